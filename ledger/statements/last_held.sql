SELECT max(last)
FROM
(
    SELECT max(stream_seq) AS last FROM events
    WHERE incarnation = {incarnation:UUID} AND stream_seq > {after:UInt64} AND recorded_at >= toStartOfMonth({from:DateTime64(9, 'UTC')})
    UNION ALL
    SELECT max(stream_seq) FROM duplicates
    WHERE incarnation = {incarnation:UUID} AND stream_seq > {after:UInt64} AND recorded_at >= toStartOfMonth({from:DateTime64(9, 'UTC')})
    UNION ALL
    SELECT max(stream_seq) FROM quarantine
    WHERE incarnation = {incarnation:UUID} AND stream_seq > {after:UInt64} AND recorded_at >= toStartOfMonth({from:DateTime64(9, 'UTC')})
)
