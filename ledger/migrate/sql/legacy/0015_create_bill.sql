-- A hash of the correlation ids of each row.
ALTER TABLE events ADD COLUMN IF NOT EXISTS correlation_hash UInt64 ALIAS
    cityHash64(
        tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
        tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE scopes ADD COLUMN IF NOT EXISTS correlation_hash UInt64 ALIAS
    cityHash64(
        tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
        tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE items ADD COLUMN IF NOT EXISTS correlation_hash UInt64 ALIAS
    cityHash64(
        tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
        tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE decisions ADD COLUMN IF NOT EXISTS correlation_hash UInt64 ALIAS
    cityHash64(
        tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
        tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE windows ADD COLUMN IF NOT EXISTS correlation_hash UInt64 ALIAS
    cityHash64(
        tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
        tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE placements ADD COLUMN IF NOT EXISTS correlation_hash UInt64 ALIAS
    cityHash64(
        tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
        tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE replacements ADD COLUMN IF NOT EXISTS correlation_hash UInt64 ALIAS
    cityHash64(
        tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
        tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE redactions ADD COLUMN IF NOT EXISTS correlation_hash UInt64 ALIAS
    cityHash64(
        tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
        tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE missing ADD COLUMN IF NOT EXISTS correlation_hash UInt64 ALIAS
    cityHash64(
        tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
        tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE calls ADD COLUMN IF NOT EXISTS correlation_hash UInt64 ALIAS
    cityHash64(
        tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
        tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE log_items ADD COLUMN IF NOT EXISTS correlation_hash UInt64 ALIAS
    cityHash64(
        tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
        tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
