-- What is missing and not resolved, who owns it, and how old is it?
-- Section: What was withheld, granted or missing?
--
-- Which gaps a session has is asked first: where a gap begins shows only when all its steps are read.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' is all
--   session_id  String  id    = ''                only this session; '' is all
--   as_of       String  time  = ''                age is counted up to then; '' is now
--   limit       UInt32  rows  = 100  [1..100000]  most rows to return
-- Columns:
--   tenant            id       the tenant
--   owner             id       who could supply it; empty if nobody was named
--   session_id        id       the session
--   turn_id           id       the turn
--   missing_id        id       the gap
--   status            text     open, requested, waiting or blocked
--   severity          text     how much it hurts
--   question          text     what is not known
--   needed_for        text     what for
--   requested_action  text     what the owner is asked to do
--   blocked_actions   text     what cannot go on
--   user_summary      text     safe to show to users
--   detected_at       time     when it was found
--   age_seconds       seconds  since then
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
ORDER BY owner, detected_at, missing_id
LIMIT {limit:UInt32}
