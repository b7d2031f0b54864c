SELECT recorded_at, incarnation, stream_seq, event_time, data
FROM events
PREWHERE session_id IN ('', {session_id:String})
    AND tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND event_type = 'context.erasure.applied'
    AND recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
    AND (position(data, {session_id:String}) > 0 OR position(data, '\\') > 0)
WHERE session_id = '' OR NOT startsWith(JSONExtractString(data, 'erased_subject'), 'item:')
