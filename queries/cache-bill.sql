-- What did losing the prompt cache cost, by cause?
-- Section: What did the cache cost?
--
-- Billed and expected numbers stand side by side and are never mixed. An idle gap beyond the cache's
-- lifetime is blamed on the gap.
-- Money is by the price list (`ctxledger prices`); calls without a price are counted and not guessed at.
-- It reads the table itself to find the sessions that had calls in these days: a row that is stored twice
-- makes no difference there.
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' is all
--   session_id  String  id    = ''              only this session; '' is all
--   days        UInt32  days  = 0   [0..36500]  recorded in the last days before the newest fact; 0 is all
-- Columns:
--   tenant               id        the tenant
--   cause                text      idle, model_switch, system_change, tools_change, compaction, elision, pressure,
--       injection, rewrite or append
--   calls                count     calls after that cause
--   breaks               count     calls that lost cached tokens, as billed; calls that are not billed are not counted
--   lost_tokens          tokens    left in the cache by the call before and not read; NULL if not billed
--   recomputed_billed    tokens    window − cache read, as billed; NULL if not billed
--   recomputed_expected  tokens    window − common prefix, by our estimate; NULL without assemblies
--   penalty_tokens       tokens    of those, not new; NULL without assemblies
--   cost                 currency  of these calls as recorded, as far as known; NULL if none is, or in several
--       currencies
--   currencies           text      currencies of the costs, recorded and by the price list
--   unbroken_billed      tokens    recomputed_billed without the breaks
--   unbroken_expected    tokens    recomputed_expected without the breaks: what is new
--   priced_cost          currency  of these calls by the price list, as far as known; NULL if none is, or in several
--       currencies
--   break_cost           currency  of that, for computing lost tokens again; NULL likewise
--   unbroken_cost        currency  of the calls whose break has a price: their cost without it; NULL likewise
--   unpriced_calls       count     calls that the price list has no price for
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
    countIf(price IS NULL) AS unpriced_calls
FROM
(
    SELECT
        tenant, cause, lost_tokens AS lost, recomputed_billed AS billed, recomputed_expected AS expected,
        penalty_tokens AS penalty, cost AS recorded, currency,
        unbroken_billed AS unbroken, new_tokens AS fresh, priced_cost AS price, priced_currency AS listed,
        break_cost AS wasted, unbroken_cost AS saved
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
