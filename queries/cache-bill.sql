-- What did losing the prompt cache cost, by cause?
-- Section: What did the cache cost?
--
-- Billed and expected numbers are in separate columns and are never mixed. An idle gap beyond the cache's
-- lifetime is the cause of its break. The price list (`ctxledger prices`) gives the costs. Calls without a
-- price are counted and have no cost.
-- The query reads the table itself to find the sessions with calls in these days. A row that is stored
-- twice makes no difference there.
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' means all tenants
--   session_id  String  id    = ''              only this session; '' means all sessions
--   days        UInt32  days  = 0   [0..36500]  only facts of this many days before the newest fact; 0 means all
-- Columns:
--   tenant               id        the tenant
--   cause                text      cause of the recomputation: idle, model_switch, system_change, tools_change,
--       compaction, elision, pressure, injection, rewrite, append or unexplained
--   calls                count     calls after that cause
--   breaks               count     billed calls that lost cached tokens
--   lost_tokens          tokens    tokens that the previous call left in the cache and this call did not read; NULL
--       if not billed
--   recomputed_billed    tokens    window − cache read, as billed; NULL if not billed
--   recomputed_expected  tokens    window − common prefix, by our estimate; NULL without assemblies
--   penalty_tokens       tokens    recomputed_expected without new tokens; NULL without assemblies
--   cost                 currency  recorded cost of these calls, as far as known; NULL if unknown or in several
--       currencies
--   currencies           text      currencies of the costs, recorded and by the price list
--   unbroken_billed      tokens    recomputed_billed without the breaks
--   unbroken_expected    tokens    recomputed_expected without the breaks: the new tokens
--   priced_cost          currency  cost of these calls by the price list, as far as known; NULL if unknown or in
--       several currencies
--   break_cost           currency  share of priced_cost for recomputing lost tokens; NULL if unknown or in several
--       currencies
--   unbroken_cost        currency  cost without the break, of the calls whose break has a price; NULL if unknown or
--       in several currencies
--   unpriced_calls       count     calls without a price in the price list
--   at_least_cost        currency  priced_cost and what is known of the other calls; NULL if nothing is known, or in
--       several currencies
--   partial_calls        count     calls with a count that is not known, or a placeholder and not final
SELECT
    tenant, cause, count() AS calls, countIf(lost > 0) AS breaks, sum(lost) AS lost_tokens,
    sum(billed) AS recomputed_billed, sum(expected) AS recomputed_expected, sum(penalty) AS penalty_tokens,
    if(uniqExactIf(currency, currency != '') > 1, NULL, sum(recorded)) AS cost,
    arraySort(
        arrayDistinct(
            arrayConcat(groupUniqArrayIf(toString(currency), currency != ''), groupUniqArrayIf(listed, listed != '')))
    ) AS currencies,
    sum(unbroken) AS unbroken_billed, sum(fresh) AS unbroken_expected,
    if(uniqExactIf(listed, listed != '') > 1, NULL, sum(price)) AS priced_cost,
    if(uniqExactIf(listed, listed != '') > 1, NULL, sum(wasted)) AS break_cost,
    if(uniqExactIf(listed, listed != '') > 1, NULL, sum(saved)) AS unbroken_cost,
    countIf(lacks = 'price') AS unpriced_calls,
    if(uniqExactIf(listed, listed != '') > 1, NULL, sum(least)) AS at_least_cost,
    countIf(lacks = 'count') AS partial_calls
FROM
(
    SELECT
        tenant, cause, lost_tokens AS lost, recomputed_billed AS billed, recomputed_expected AS expected,
        penalty_tokens AS penalty, cost AS recorded, currency,
        unbroken_billed AS unbroken, new_tokens AS fresh, priced_cost AS price, priced_currency AS listed,
        break_cost AS wasted, unbroken_cost AS saved, at_least_cost AS least, cost_lacks AS lacks
    FROM cache_breaks
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND (
            {days:UInt32} = 0
                OR (tenant, session_id) IN
                (
                    SELECT tenant, session_id
                    FROM calls
                    WHERE (
                        {tenant:String} = ''
                            OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
                        AND ({session_id:String} = '' OR session_id = {session_id:String})
                        AND {days:UInt32} > 0
                        AND recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32})
                ))
)
GROUP BY tenant, cause
ORDER BY lost_tokens DESC NULLS LAST, tenant, cause
