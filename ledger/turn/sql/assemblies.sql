SELECT tenant, turn_id, thread_id, call_id, sequence, stream_seq, target, assembly_id
FROM placements
PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String} AND record_kind = 'assembly' AND assembly_id != ''
    AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
