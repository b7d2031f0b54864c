-- Which gaps did a session or turn meet, where, and what became of them?
-- Section: What was withheld, granted or missing?
--
-- Which gaps a session has is asked first: where a gap begins shows only when all its steps are read.
--
-- Parameters:
--   tenant      String  id    = ''                   only this tenant; '' is all
--   session_id  String  id    required               the session
--   turn_id     String  id    = ''                   only gaps that were found in this turn; '' is all
--   run_id      String  id    = ''                   only gaps that this run found; '' is all
--   task_id     String  id    = ''                   only gaps of this task; '' is all
--   attempt_id  String  id    = ''                   only gaps that this attempt found; '' is all
--   limit       UInt32  rows  = 1000    [1..100000]  most rows to return
-- Columns:
--   detected_at          time     when it was found
--   turn_id              id       the turn that it was found in
--   run_id               id       the run
--   call_id              id       the model call; '' for none
--   tool_call_id         id       the tool call; '' for none
--   missing_id           id       the gap
--   is_open              bool     not resolved, declined or expired
--   status               text     open, requested, waiting, resolved, declined, blocked or expired
--   severity             text     how much it hurts
--   question             text     what is not known
--   needed_for           text     what for
--   blocked_actions      text     what cannot go on
--   candidate_item_refs  id       the items that might hold it
--   owner                id       who could supply it; empty if nobody was named
--   requested_action     text     what the owner is asked to do
--   user_summary         text     safe to show to users
--   resolution_refs      id       what resolved it
--   steps                count    recorded steps of its life
--   settled_seconds      seconds  from when it was found to its last step; NULL while it is open
SELECT
    detected_at, turn_id, run_id, call_id, tool_call_id, missing_id, is_open, status, severity, question, needed_for,
    blocked_actions, candidate_item_refs, owner, requested_action, user_summary, resolution_refs, steps,
    if(is_open, NULL, dateDiff('second', detected_at, changed_at)) AS settled_seconds
FROM gaps
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND session_id = {session_id:String}
    AND missing_id IN (SELECT missing_id FROM gap_steps WHERE session_id = {session_id:String})
    AND ({turn_id:String} = '' OR turn_id = {turn_id:String})
    AND ({run_id:String} = '' OR run_id = {run_id:String})
    AND ({task_id:String} = '' OR task_id = {task_id:String})
    AND ({attempt_id:String} = '' OR attempt_id = {attempt_id:String})
ORDER BY detected_at, missing_id
LIMIT {limit:UInt32}
