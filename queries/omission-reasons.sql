-- Why are candidates left out, and how many tokens do they have?
-- Section: What was chosen, and what was left out?
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' means all tenants
--   session_id  String  id    = ''              only this session; '' means all sessions
--   run_id      String  id    = ''              only this run; '' means all runs
--   task_id     String  id    = ''              only this task; '' means all tasks
--   attempt_id  String  id    = ''              only this attempt; '' means all attempts
--   days        UInt32  days  = 0   [0..36500]  only facts of this many days before the newest fact; 0 means all
-- Columns:
--   tenant          id      the tenant
--   reason          text    the reason
--   policy          text    the selection policy
--   omissions       count   omitted candidates
--   items           count   distinct items
--   selections      count   distinct selections
--   tokens          tokens  tokens left out, as far as known; NULL if unknown
--   unknown_tokens  count   omissions whose tokens are not known
SELECT
    tenant, reason, policy, count() AS omissions, uniqExact(item_ref) AS items,
    uniqExact(session_id, selection_id) AS selections,
    sum(o.tokens) AS tokens, countIf(o.tokens IS NULL) AS unknown_tokens
FROM omissions AS o
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({run_id:String} = '' OR run_id = {run_id:String})
    AND ({task_id:String} = '' OR task_id = {task_id:String})
    AND ({attempt_id:String} = '' OR attempt_id = {attempt_id:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
GROUP BY tenant, reason, policy
ORDER BY tokens DESC NULLS LAST, omissions DESC, tenant, reason, policy
