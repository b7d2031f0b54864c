SELECT
    r.1 AS tenant, r.2 AS subject, parseDateTime64BestEffortOrZero(r.3, 9, 'UTC') AS recorded_at, r.4 AS stream_seq,
    'context.redaction.revoked' AS event_type
FROM
(
    SELECT arrayJoin(JSONExtract({revocations:String}, 'Array(Tuple(
        Tenant String, Redaction String, At String, Sequence UInt64))')) AS r
)
