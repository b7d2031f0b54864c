SELECT recorded_at, toString(incarnation) AS incarnation, stream_seq, event_time, 'expired' AS step, {item_id:String} AS record_id, JSONExtractString(data, 'reason') AS reason, arrayStringConcat(JSONExtract(data, 'policy_refs', 'Array(String)'), ', ') AS policy
FROM events
PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = '' AND event_type = 'context.erasure.applied'
    AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
WHERE has(JSONExtract(data, 'records', 'Array(Tuple(session_id String, item_id String))'), ({session_id:String}, {item_id:String}))
