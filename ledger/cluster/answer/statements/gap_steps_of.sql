SELECT
    sipHash64(tenant, missing_id),
    toUnixTimestamp64Nano(event_time), ifNull(sequence, 0), event_id, toString(tenant), missing_id, toString(agent),
    resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id,
    action_id, evidence_id, context_id, parent_run_id, root_run_id, toString(source), call_id, toString(status),
    question, needed_for, toString(severity), requested_from, requested_action, user_summary, blocked_actions,
    candidate_item_refs, resolution_refs
FROM gap_steps
WHERE sipHash64(tenant, missing_id) IN {gaps:Array(UInt64)}
