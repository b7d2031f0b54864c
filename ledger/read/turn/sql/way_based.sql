SELECT
    recorded_at, incarnation, stream_seq, event_time, turn_id, call_id, record_kind, record_id, assembly_id, target,
    tenant, source, attempt_id, sequence, base_assembly_id, keep, metadata
FROM placements
PREWHERE session_id = {session_id:String}
    AND tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND record_kind = 'assembly'
    AND base_assembly_id != ''
    AND recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
