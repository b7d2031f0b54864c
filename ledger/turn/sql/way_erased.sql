SELECT recorded_at, toString(incarnation) AS incarnation, stream_seq, event_time, 'expired' AS step, {item_id:String} AS record_id, JSONExtractString(data, 'reason') AS reason, arrayStringConcat(JSONExtract(data, 'policy_refs', 'Array(String)'), ', ') AS policy
FROM events
PREWHERE session_id = ''
    AND tenant = {tenant:String}
    AND event_type = 'context.erasure.applied'
    AND recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
WHERE has(JSONExtract(data, 'records', 'Array(Tuple(session_id String, item_id String))'), ({session_id:String}, {item_id:String}))
