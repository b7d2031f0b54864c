-- What did losing the prompt cache cost, by cause?
-- Section: What did the cache cost?
--
-- Billed and expected numbers stand side by side and are never mixed. An idle gap beyond the cache's lifetime is blamed on the gap.
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' is all
--   session_id  String  id    = ''              only this session; '' is all
--   days        UInt32  days  = 0   [0..36500]  recorded in the last days before the newest fact; 0 is all
-- Columns:
--   tenant               id        the tenant
--   cause                text      idle, model_switch, system_change, tools_change, compaction, elision or append
--   calls                count     calls after that cause
--   breaks               count     calls that lost cached tokens
--   lost_tokens          tokens    left in the cache by the call before and not read; NULL if not billed
--   recomputed_billed    tokens    window − cache read, as billed; NULL if not billed
--   recomputed_expected  tokens    window − common prefix, by our estimate; NULL without assemblies
--   penalty_tokens       tokens    of those, not new; NULL without assemblies
--   cost                 currency  of these calls, as far as known; NULL if no price is
--   currencies           text      currencies of the costs
SELECT tenant, cause, count() AS calls, countIf(lost > 0) AS breaks, sum(lost) AS lost_tokens, sum(billed) AS recomputed_billed,
    sum(expected) AS recomputed_expected, sum(penalty) AS penalty_tokens, sum(price) AS cost, arraySort(groupUniqArrayIf(currency, currency != '')) AS currencies
FROM
(
    SELECT tenant, cause, lost_tokens AS lost, recomputed_billed AS billed, recomputed_expected AS expected, penalty_tokens AS penalty, cost AS price, currency
    FROM cache_breaks
    WHERE ({tenant:String} = '' OR tenant = {tenant:String})
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
)
GROUP BY tenant, cause
ORDER BY lost_tokens DESC NULLS LAST, tenant, cause
