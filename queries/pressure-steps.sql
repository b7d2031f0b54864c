-- Which rungs of the pressure ladder run, by agent and model?
-- Section: What was shortened or summarised?
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' means all tenants
--   session_id  String  id    = ''              only this session; '' means all sessions
--   days        UInt32  days  = 0   [0..36500]  only facts of this many days before the newest fact; 0 means all
-- Columns:
--   tenant        id      the tenant
--   agent         text    the agent
--   model         text    the model
--   step          count   number of the rung, 1 to 5
--   step_name     text    name of the rung
--   outcome       text    result of the rung: applied, skipped, insufficient or failed
--   times         count   runs of the rung
--   sessions      count   number of sessions
--   tokens_freed  tokens  tokens before − after, as far as known; NULL if unknown
--   mean_fill     ratio   mean of tokens before / limit
SELECT
    tenant, agent, model, step, step_name, outcome, count() AS times, uniqExact(session_id) AS sessions,
    sum(tokens_before - tokens_after) AS tokens_freed, avg(tokens_before / nullIf(limit_tokens, 0)) AS mean_fill
FROM pressure_steps
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
    AND part = 1
GROUP BY tenant, agent, model, step, step_name, outcome
ORDER BY tenant, agent, model, step, times DESC, outcome
