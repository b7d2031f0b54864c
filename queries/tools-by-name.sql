-- Which tools were called, how often, and how much did their results fill?
-- Section: What was used?
--
-- The query reads the table itself. The query groups the entries of a call by a hash of its id. A row that is
-- stored twice makes no difference there.
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' means all tenants
--   session_id  String  id    = ''              only this session; '' means all sessions
--   days        UInt32  days  = 0   [0..36500]  only facts of this many days before the newest fact; 0 means all
-- Columns:
--   tenant         id      the tenant
--   session_id     id      the session
--   tool           text    the tool's name
--   calls          count   distinct calls of the tool
--   result_tokens  tokens  tokens of the results, as far as known; NULL if none is known
--   result_bytes   bytes   bytes of the results, as far as known
SELECT tenant, session_id, tool, count() AS calls, sum(tokens) AS result_tokens, sum(bytes) AS result_bytes
FROM
(
    SELECT
        tenant, session_id, anyIf(name, item_type = 'function_call') AS tool,
        countIf(item_type = 'function_call') AS used, maxIf(tokens, item_type = 'function_call_output') AS tokens,
        maxIf(byte_size, item_type = 'function_call_output') AS bytes
    FROM log_items
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND tool_call_id != ''
        AND (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
        AND item_type IN ('function_call', 'function_call_output')
    GROUP BY tenant, session_id, cityHash64(attempt_id, tool_call_id)
)
WHERE used > 0
GROUP BY tenant, session_id, tool
ORDER BY tenant, session_id, calls DESC, tool
