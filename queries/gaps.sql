-- Which gaps did a session or turn have, where, and how did they end?
-- Section: What was withheld, granted or missing?
--
-- The query first finds the gaps of the session. Only all steps of a gap show where the gap begins.
--
-- Parameters:
--   tenant      String  id    = ''                   only this tenant; '' means all tenants
--   session_id  String  id    required               the session
--   turn_id     String  id    = ''                   only gaps that were found in this turn; '' means all gaps
--   run_id      String  id    = ''                   only gaps that this run found; '' means all gaps
--   task_id     String  id    = ''                   only gaps of this task; '' means all gaps
--   attempt_id  String  id    = ''                   only gaps that this attempt found; '' means all gaps
--   limit       UInt32  rows  = 1000    [1..100000]  maximum number of rows
-- Columns:
--   detected_at          time     time at which the gap was found
--   turn_id              id       the turn in which the gap was found
--   run_id               id       the run
--   call_id              id       the model call; '' for none
--   tool_call_id         id       the tool call; '' for none
--   missing_id           id       the gap
--   is_open              bool     whether the gap is not resolved, declined or expired
--   status               text     state of the gap: open, requested, waiting, resolved, declined, blocked or expired
--   severity             text     severity of the gap
--   question             text     the missing information, as a question
--   needed_for           text     the purpose that needs the answer
--   blocked_actions      text     actions that wait for the answer
--   candidate_item_refs  id       items that might contain the answer
--   owner                id       the owner of the answer; empty if no owner is named
--   requested_action     text     the action that the owner should take
--   user_summary         text     summary that is safe to show to users
--   resolution_refs      id       records that resolved the gap
--   steps                count    recorded steps of the gap
--   settled_seconds      seconds  seconds from detection to the last step; NULL for an open gap
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
