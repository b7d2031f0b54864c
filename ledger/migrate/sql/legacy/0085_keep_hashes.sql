-- What the standing checks compare is computed when a row is written. For rows that are there it is
-- computed in the background, and until then when it is asked for.
ALTER TABLE events MODIFY COLUMN correlation_hash UInt64 MATERIALIZED
    cityHash64(
        incarnation, stream_seq, tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id,
        run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE scopes MODIFY COLUMN correlation_hash UInt64 MATERIALIZED
    cityHash64(
        incarnation, stream_seq, tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id,
        run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE items MODIFY COLUMN correlation_hash UInt64 MATERIALIZED
    cityHash64(
        incarnation, stream_seq, tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id,
        run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE decisions MODIFY COLUMN correlation_hash UInt64 MATERIALIZED
    cityHash64(
        incarnation, stream_seq, tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id,
        run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE windows MODIFY COLUMN correlation_hash UInt64 MATERIALIZED
    cityHash64(
        incarnation, stream_seq, tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id,
        run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE placements MODIFY COLUMN correlation_hash UInt64 MATERIALIZED
    cityHash64(
        incarnation, stream_seq, tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id,
        run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE replacements MODIFY COLUMN correlation_hash UInt64 MATERIALIZED
    cityHash64(
        incarnation, stream_seq, tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id,
        run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE redactions MODIFY COLUMN correlation_hash UInt64 MATERIALIZED
    cityHash64(
        incarnation, stream_seq, tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id,
        run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE missing MODIFY COLUMN correlation_hash UInt64 MATERIALIZED
    cityHash64(
        incarnation, stream_seq, tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id,
        run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE calls MODIFY COLUMN correlation_hash UInt64 MATERIALIZED
    cityHash64(
        incarnation, stream_seq, tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id,
        run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE log_items MODIFY COLUMN correlation_hash UInt64 MATERIALIZED
    cityHash64(
        incarnation, stream_seq, tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id,
        run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE events MODIFY COLUMN correlation_hash CODEC(NONE);
ALTER TABLE scopes MODIFY COLUMN correlation_hash CODEC(NONE);
ALTER TABLE items MODIFY COLUMN correlation_hash CODEC(NONE);
ALTER TABLE decisions MODIFY COLUMN correlation_hash CODEC(NONE);
ALTER TABLE windows MODIFY COLUMN correlation_hash CODEC(NONE);
ALTER TABLE placements MODIFY COLUMN correlation_hash CODEC(NONE);
ALTER TABLE replacements MODIFY COLUMN correlation_hash CODEC(NONE);
ALTER TABLE redactions MODIFY COLUMN correlation_hash CODEC(NONE);
ALTER TABLE missing MODIFY COLUMN correlation_hash CODEC(NONE);
ALTER TABLE calls MODIFY COLUMN correlation_hash CODEC(NONE);
ALTER TABLE log_items MODIFY COLUMN correlation_hash CODEC(NONE);
ALTER TABLE events ADD COLUMN IF NOT EXISTS declaration String MATERIALIZED
    if(event_type IN ('context.facts.dropped', 'context.erasure.applied'), data, '') AFTER correlation_hash;
ALTER TABLE decisions ADD COLUMN IF NOT EXISTS candidates_hash UInt64 MATERIALIZED
    arraySum(i -> cityHash64(i), candidate_refs) AFTER correlation_hash;
ALTER TABLE decisions ADD COLUMN IF NOT EXISTS items_hash UInt64 MATERIALIZED
    arraySum(i -> cityHash64(i), item_refs) AFTER candidates_hash;
ALTER TABLE decisions ADD COLUMN IF NOT EXISTS contradicts Bool MATERIALIZED
    length(arrayDistinct(item_refs)) < length(item_refs)
        OR arrayExists(
            (o, r) -> o = 'omitted' AND r = '', outcomes, arrayResize(reasons, length(outcomes))) AFTER items_hash;
ALTER TABLE events MATERIALIZE COLUMN correlation_hash;
ALTER TABLE scopes MATERIALIZE COLUMN correlation_hash;
ALTER TABLE items MATERIALIZE COLUMN correlation_hash;
ALTER TABLE decisions MATERIALIZE COLUMN correlation_hash;
ALTER TABLE windows MATERIALIZE COLUMN correlation_hash;
ALTER TABLE placements MATERIALIZE COLUMN correlation_hash;
ALTER TABLE replacements MATERIALIZE COLUMN correlation_hash;
ALTER TABLE redactions MATERIALIZE COLUMN correlation_hash;
ALTER TABLE missing MATERIALIZE COLUMN correlation_hash;
ALTER TABLE calls MATERIALIZE COLUMN correlation_hash;
ALTER TABLE log_items MATERIALIZE COLUMN correlation_hash;
ALTER TABLE events MATERIALIZE COLUMN declaration;
ALTER TABLE decisions MATERIALIZE COLUMN candidates_hash;
ALTER TABLE decisions MATERIALIZE COLUMN items_hash;
ALTER TABLE decisions MATERIALIZE COLUMN contradicts;
