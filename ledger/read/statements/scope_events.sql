SELECT
    stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id,
    step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id, subject,
    data_content_type, data_schema, partition_key, correlation_id, causation_id, recorded_time,
    traceparent, tracestate, data_classification, extensions, data, salt, tenant_absent
FROM events FINAL
WHERE tenant = {tenant:String}
    AND session_id = {session:String}
    AND incarnation = {incarnation:UUID}
    AND ({turn:String} = '' OR turn_id = {turn:String})
    AND ({run:String} = '' OR run_id = {run:String})
    AND ({task:String} = '' OR task_id = {task:String})
    AND ({attempt:String} = '' OR attempt_id = {attempt:String})
    AND (empty({only:Array(UInt64)}) OR has({only:Array(UInt64)}, stream_seq))
ORDER BY tenant, session_id, incarnation, stream_seq
SETTINGS do_not_merge_across_partitions_select_final = 1, max_block_size = 2000, max_execution_time = 600
