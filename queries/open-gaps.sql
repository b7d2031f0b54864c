-- Which gaps are open, who owns them, and how old are they?
-- Section: What was withheld, granted or missing?
--
-- The query first finds the gaps of the session. Only all steps of a gap show where the gap begins.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' means all tenants
--   session_id  String  id    = ''                only this session; '' means all sessions
--   as_of       String  time  = ''                time up to which the age is counted; '' means now
--   limit       UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant            id       the tenant
--   owner             id       the owner of the answer; empty if no owner is named
--   session_id        id       the session
--   turn_id           id       the turn
--   missing_id        id       the gap
--   status            text     state of the gap: open, requested, waiting or blocked
--   severity          text     severity of the gap
--   question          text     the missing information, as a question
--   needed_for        text     the purpose that needs the answer
--   requested_action  text     the action that the owner should take
--   blocked_actions   text     actions that wait for the answer
--   user_summary      text     summary that is safe to show to users
--   detected_at       time     time at which the gap was found
--   age_seconds       seconds  seconds since detected_at
SELECT
    tenant, owner, session_id, turn_id, missing_id, status, severity, question, needed_for, requested_action,
    blocked_actions, user_summary, detected_at,
    dateDiff(
        'second', detected_at,
        if({as_of:String} = '', now64(9), parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))) AS age_seconds
FROM open_gaps
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND (
        {session_id:String} = ''
            OR missing_id IN (SELECT missing_id FROM gap_steps WHERE session_id = {session_id:String}))
    AND ({as_of:String} = '' OR detected_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
ORDER BY owner, detected_at, tenant, missing_id
LIMIT {limit:UInt32}
