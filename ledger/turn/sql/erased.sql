SELECT r.2 AS item_id
FROM
(
    SELECT arrayJoin(JSONExtract(data, 'records', 'Array(Tuple(session_id String, item_id String))')) AS r
    FROM events
    PREWHERE session_id = ''
        AND tenant = {tenant:String}
        AND event_type = 'context.erasure.applied'
        AND recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
)
WHERE r.1 = {session_id:String} AND r.2 != ''
