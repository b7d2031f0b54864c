SELECT tenant, of_incarnation, of_seq, stream_seq, recorded_at, outcome
FROM quarantine_replays
UNION ALL
SELECT
    r.1 AS tenant, r.2 AS of_incarnation, r.3 AS of_seq, r.4 AS stream_seq,
    parseDateTime64BestEffortOrZero(r.5, 9, 'UTC') AS recorded_at, r.6 AS outcome
FROM
(
    SELECT arrayJoin(JSONExtract({replays_elsewhere:String}, 'Array(Tuple(
        Tenant String, Incarnation UUID, Sequence UInt64, As UInt64, At String, Outcome String))')) AS r
)
