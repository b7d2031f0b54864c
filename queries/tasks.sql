-- Which tasks were worked on, in how many attempts, and what did each use?
-- Section: What was used?
--
-- A row is an attempt at a task, or what is of a task and of no attempt.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' is all
--   session_id  String  id    = ''                only this session; '' is all
--   task_id     String  id    = ''                only this task; '' is all
--   attempt_id  String  id    = ''                only this attempt; '' is all
--   run_id      String  id    = ''                only what this run did; '' is all
--   days        UInt32  days  = 0    [0..36500]   recorded in the last days before the newest fact; 0 is all
--   limit       UInt32  rows  = 100  [1..100000]  most rows to return
-- Columns:
--   tenant         id      the tenant
--   session_id     id      the session
--   task_id        id      the task
--   attempt_id     id      the attempt; empty for none
--   started_at     time    first fact
--   ended_at       time    last fact
--   run_ids        id      runs that worked on it
--   turns          count   turns
--   steps          count   steps
--   tool_calls     count   tool calls
--   actions        count   actions
--   calls          count   model calls
--   window_tokens  tokens  input of these calls, billed; NULL if not known
--   output         tokens  output of these calls; NULL if not known
--   items          count   context items that were added
--   omissions      count   candidates that were left out
--   gaps           count   gaps that were detected
--   facts          count   facts
SELECT
    tenant, session_id, task_id, attempt_id, min(at) AS started_at, max(at) AS ended_at,
    arraySort(groupUniqArrayIf(run, run != '')) AS run_ids, uniqExactIf(turn_id, turn_id != '') AS turns,
    uniqExactIf(step_id, step_id != '') AS steps, uniqExactIf(tool_call_id, tool_call_id != '') AS tool_calls,
    uniqExactIf(action_id, action_id != '') AS actions, countIf(kind = 'call') AS calls,
    sum(window) AS window_tokens, sum(written) AS output,
    uniqExactIf(subject, kind = 'context.item.added') AS items, sum(left_out) AS omissions,
    uniqExactIf(subject, kind = 'context.missing.detected') AS gaps, countIf(kind NOT IN ('call', 'omission')) AS facts
FROM
(
    SELECT
        tenant, session_id, task_id, attempt_id, run_id AS run, turn_id, step_id, tool_call_id, action_id, subject,
        event_time AS at, toString(event_type) AS kind, NULL::Nullable(Int64) AS window,
        NULL::Nullable(Int64) AS written, 0 AS left_out, recorded_at
    FROM recorded_events
    UNION ALL
    SELECT
        tenant, session_id, task_id, attempt_id, run_id, turn_id, step_id, tool_call_id, action_id, '', event_time,
        'call', window_tokens, output, 0, recorded_at
    FROM model_calls
    UNION ALL
    SELECT
        tenant, session_id, task_id, attempt_id, run_id, turn_id, step_id, tool_call_id, action_id, '', event_time,
        'omission', NULL, NULL, 1, recorded_at
    FROM omissions
)
WHERE task_id != ''
    AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({task_id:String} = '' OR task_id = {task_id:String})
    AND ({attempt_id:String} = '' OR attempt_id = {attempt_id:String})
    AND ({run_id:String} = '' OR run = {run_id:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
GROUP BY tenant, session_id, task_id, attempt_id
ORDER BY started_at DESC, tenant, session_id, task_id, attempt_id
LIMIT {limit:UInt32}
