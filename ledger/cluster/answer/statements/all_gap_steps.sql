SELECT
    event_time, sequence, event_id,
    tenant, missing_id, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id,
    step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id, source, call_id, status,
    question, needed_for, severity, requested_from, requested_action, user_summary, blocked_actions,
    candidate_item_refs, resolution_refs
FROM gap_steps
WHERE sipHash64(tenant, missing_id) NOT IN {crossing:Array(UInt64)}
UNION ALL
SELECT
    fromUnixTimestamp64Nano(s.2, 'UTC'), s.3, s.4, s.5, s.6, s.7, s.8, s.9, s.10, s.11, s.12, s.13, s.14, s.15,
    s.16, s.17, s.18, s.19, s.20, s.21, s.22, s.23, s.24, s.25, s.26, s.27, s.28, s.29, s.30, s.31, s.32, s.33, s.34
FROM
(
    SELECT arrayJoin(JSONExtract({gap_steps:String}, 'Array(Tuple(
        UInt64, Int64, Int64, String, String, String, String, String, String, String, String, String, String,
        String, String, String, String, String, String, String, String, String, String, String, String, String,
        String, String, String, String, String, Array(String), Array(String), Array(String)))')) AS s
)
