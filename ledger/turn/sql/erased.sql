SELECT r.2 AS item_id
FROM
(
    SELECT arrayJoin(JSONExtract(data, 'records', 'Array(Tuple(session_id String, item_id String))')) AS r
    FROM events
    PREWHERE tenant = {tenant:String} AND session_id = '' AND event_type = 'context.erasure.applied'
        AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
)
WHERE r.1 = {session_id:String} AND r.2 != ''
