SELECT
    incarnation, stream_seq, recorded_at, session_id, turn_id, event_type, subject, data,
    arrayFilter(
        text -> length(text) >= {shortest:UInt64},
        arrayConcat(
            [
                event_id, toString(source), toString(event_type), toString(tenant), toString(agent), resource_id,
                toString(runtime_id), session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
                tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id, subject,
                toString(data_content_type), toString(data_schema), partition_key, correlation_id,
                causation_id, traceparent, tracestate, toString(data_classification)],
            arrayMap(name -> toString(name), mapKeys(extensions)), mapValues(extensions))) AS attributes
FROM events FINAL
WHERE tenant = {tenant:String}
    AND (session_id, incarnation, stream_seq) > ({session:String}, {incarnation:UUID}, {after:UInt64})
ORDER BY tenant, session_id, incarnation, stream_seq
SETTINGS do_not_merge_across_partitions_select_final = 1, max_block_size = 1000
