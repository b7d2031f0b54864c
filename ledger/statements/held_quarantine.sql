SELECT groupArray(stream_seq), groupArray(toUnixTimestamp64Nano(recorded_at)), groupArray(says)
FROM
(
    SELECT DISTINCT stream_seq, recorded_at, SHA256(concat(code, '\0', reason, '\0', header, '\0', data)) AS says
    FROM quarantine
    WHERE incarnation = {incarnation:UUID}
        AND stream_seq BETWEEN {first:UInt64} AND {last:UInt64}
        AND recorded_at >= toStartOfMonth({from:DateTime64(9, 'UTC')})
)
