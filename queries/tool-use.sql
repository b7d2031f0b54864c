-- How many tools were called, and how many calls have no result?
-- Section: What was used?
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' means all tenants
--   session_id  String  id    = ''              only this session; '' means all sessions
--   days        UInt32  days  = 0   [0..36500]  only facts of this many days before the newest fact; 0 means all
-- Columns:
--   tenant                id     the tenant
--   session_id            id     the session
--   tool_use_ids          count  distinct tool calls
--   tool_result_ids       count  distinct tool calls with a result
--   unanswered_tool_uses  count  tool calls without a result
--   orphan_tool_results   count  results without a tool call
SELECT
    tenant, session_id, countIf(used) AS tool_use_ids, countIf(answered) AS tool_result_ids,
    countIf(used AND NOT answered) AS unanswered_tool_uses, countIf(answered AND NOT used) AS orphan_tool_results
FROM
(
    SELECT
        tenant, session_id, attempt_id, tool_call_id, max(item_type = 'function_call') AS used,
        max(item_type = 'function_call_output') AS answered
    FROM log_entries
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND tool_call_id != ''
        AND item_type IN ('function_call', 'function_call_output')
    GROUP BY tenant, session_id, attempt_id, tool_call_id
)
GROUP BY tenant, session_id
ORDER BY tenant, session_id
