-- How much room was left in the windows, and how often did they overflow?
-- Section: What did the model see?
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' means all tenants
--   session_id  String  id    = ''              only this session; '' means all sessions
--   days        UInt32  days  = 0   [0..36500]  only facts of this many days before the newest fact; 0 means all
-- Columns:
--   tenant            id      the tenant
--   agent             text    the agent
--   model             text    the model
--   target            text    target of the windows
--   budgets           count   budgets applied
--   max_tokens        tokens  largest limit
--   headroom_median   tokens  median of the tokens left after reserve and prompt
--   headroom_least    tokens  fewest tokens left; below 0 is an overflow
--   overflows         count   budgets without room
--   with_truncation   count   budgets that shortened items or took them out
--   truncated_items   count   items that were shortened or taken out
--   truncated_tokens  tokens  tokens cut from the items, as far as known
SELECT
    tenant, agent, model, target, countIf(b.part = 1) AS budgets, max(b.max_tokens) AS max_tokens,
    quantileExact(0.5)(headroom_tokens) AS headroom_median,
    min(headroom_tokens) AS headroom_least, countIf(headroom_tokens < 0) AS overflows,
    uniqExactIf(session_id, budget_id, notEmpty(truncated_refs)) AS with_truncation,
    sum(length(truncated_refs)) AS truncated_items,
    sum(arraySum(arrayMap((b, a) -> ifNull(b - a, 0), truncated_before, truncated_after))) AS truncated_tokens
FROM budgets AS b
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
GROUP BY tenant, agent, model, target
ORDER BY overflows DESC, headroom_least NULLS LAST, tenant, agent, model, target
