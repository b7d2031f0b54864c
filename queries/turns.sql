-- Which turns does a session have, and how did the window grow?
-- Section: What did the model see?
--
-- The query reads the tables of assemblies and calls themselves. A row that is stored twice makes no
-- difference there.
--
-- Parameters:
--   tenant      String  id  = ''      only this tenant; '' means all tenants
--   session_id  String  id  required  the session
--   run_id      String  id  = ''      only turns of this run; '' means all runs
--   task_id     String  id  = ''      only turns of this task; '' means all tasks
--   attempt_id  String  id  = ''      only turns of this attempt; '' means all attempts
-- Columns:
--   tenant                 id      the tenant
--   session_id             id      the session
--   thread_id              id      the thread
--   turn_id                id      the turn
--   started_at             time    time of the first call; NULL if the log has no times
--   calls                  count   number of model calls
--   last_call_id           id      the last call of the turn
--   last_window_tokens     tokens  billed window of the last call; NULL if not known
--   last_estimated_tokens  tokens  estimated window of the last call
--   output_tokens          tokens  output of all calls
SELECT
    tenant, session_id, thread_id, turn_id,
    minOrNullIf(event_time, event_time >= toDateTime64('1971-01-01', 9, 'UTC')) AS started_at,
    uniqExact(call_id) AS calls,
    argMax(call_id, thread_order) AS last_call_id, max((thread_order, window_tokens)).2 AS last_window_tokens,
    max((thread_order, estimated_tokens)).2 AS last_estimated_tokens, sum(output) AS output_tokens
FROM
(
    SELECT
        tenant, session_id, thread_id, turn_id, event_time, call_id, thread_order, window_tokens, estimated_tokens,
        output
    FROM model_calls
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
        AND ({run_id:String} = '' OR run_id = {run_id:String})
        AND ({task_id:String} = '' OR task_id = {task_id:String})
        AND ({attempt_id:String} = '' OR attempt_id = {attempt_id:String})
    UNION ALL
    SELECT
        tenant, session_id, thread_id, turn_id, event_time, call_id, ifNull(sequence, toInt64(stream_seq)), NULL,
        if(has(block_tokens, NULL), NULL, arraySum(t -> ifNull(t, 0), block_tokens)), NULL
    FROM placements
    PREWHERE base_assembly_id = ''
        AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
        AND record_kind = 'assembly'
        AND ({run_id:String} = '' OR run_id = {run_id:String})
        AND ({task_id:String} = '' OR task_id = {task_id:String})
        AND ({attempt_id:String} = '' OR attempt_id = {attempt_id:String})
        AND call_id NOT IN (SELECT call_id FROM calls WHERE session_id = {session_id:String})
    UNION ALL
    SELECT
        tenant, session_id, thread_id, turn_id, event_time, call_id, thread_order, NULL,
        if(
            has(block_tokens, NULL) OR has(coverage_reasons, 'base_missing'), NULL,
            arraySum(t -> ifNull(t, 0), block_tokens)),
        NULL
    FROM based_assemblies
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
        AND ({run_id:String} = '' OR run_id = {run_id:String})
        AND ({task_id:String} = '' OR task_id = {task_id:String})
        AND ({attempt_id:String} = '' OR attempt_id = {attempt_id:String})
        AND call_id NOT IN (SELECT call_id FROM calls WHERE session_id = {session_id:String})
)
GROUP BY tenant, session_id, thread_id, turn_id
ORDER BY min(event_time), turn_id
