SELECT
    stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id,
    step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id, subject, data
FROM events FINAL
WHERE incarnation = {incarnation:UUID}
    AND stream_seq > {after:UInt64}
    AND stream_seq <= {last:UInt64}
    AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session:String} = '' OR session_id = {session:String})
    AND ({type:String} = '' OR startsWith(event_type, {type:String}))
ORDER BY stream_seq
LIMIT {limit:UInt32}
