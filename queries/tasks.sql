-- Which tasks were worked on, in how many attempts, and what did each use?
-- Section: What was used?
--
-- A row is an attempt at a task. One more row holds the facts of a task outside all attempts.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' means all tenants
--   session_id  String  id    = ''                only this session; '' means all sessions
--   task_id     String  id    = ''                only this task; '' means all tasks
--   attempt_id  String  id    = ''                only this attempt; '' means all attempts
--   run_id      String  id    = ''                only facts of this run; '' means all runs
--   days        UInt32  days  = 0    [0..36500]   only facts of this many days before the newest fact; 0 means all
--   limit       UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant         id      the tenant
--   session_id     id      the session
--   task_id        id      the task
--   attempt_id     id      the attempt; empty for none
--   started_at     time    time of the first fact; NULL if the log has no times
--   ended_at       time    time of the last fact; NULL if the log has no times
--   run_ids        id      runs that worked on it
--   turns          count   number of turns
--   steps          count   number of steps
--   tool_calls     count   number of tool calls
--   actions        count   number of actions
--   calls          count   number of model calls
--   window_tokens  tokens  billed input of these calls; NULL if not known
--   output         tokens  output of these calls; NULL if not known
--   items          count   added context items
--   omissions      count   omitted candidates
--   gaps           count   detected gaps
--   facts          count   number of facts
SELECT
    tenant, session_id, task_id, attempt_id,
    minOrNullIf(at, at >= toDateTime64('1971-01-01', 9, 'UTC')) AS started_at,
    maxOrNullIf(at, at >= toDateTime64('1971-01-01', 9, 'UTC')) AS ended_at,
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
    WHERE (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
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
ORDER BY min(at) DESC, tenant, session_id, task_id, attempt_id
LIMIT {limit:UInt32}
