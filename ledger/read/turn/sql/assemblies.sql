SELECT tenant, turn_id, thread_id, attempt_id, call_id, sequence, stream_seq, target, tool_call_id, assembly_id,
    base_assembly_id, keep, source
FROM placements
PREWHERE session_id = {session_id:String}
    AND tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND record_kind = 'assembly'
    AND assembly_id != ''
    AND recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
