SELECT table, groupArray(stream_seq), groupArray(toUnixTimestamp64Nano(recorded_at)), groupArray(says)
FROM
(
    SELECT DISTINCT toString(_table) AS table, stream_seq, recorded_at, '' AS says
    FROM merge(currentDatabase(), {tables:String})
    WHERE incarnation = {incarnation:UUID}
        AND stream_seq BETWEEN {first:UInt64} AND {last:UInt64}
        AND recorded_at >= toStartOfMonth({from:DateTime64(9, 'UTC')})
    UNION ALL
    SELECT DISTINCT
        'duplicates', stream_seq, recorded_at, concat(toString(first_incarnation), ':', toString(first_seq))
    FROM duplicates
    WHERE incarnation = {incarnation:UUID}
        AND stream_seq BETWEEN {first:UInt64} AND {last:UInt64}
        AND recorded_at >= toStartOfMonth({from:DateTime64(9, 'UTC')})
    UNION ALL
    SELECT DISTINCT 'log_hashes', stream_seq, recorded_at, concat(toString(log_index), ':', hash, above)
    FROM log_hashes
    WHERE incarnation = {incarnation:UUID}
        AND stream_seq BETWEEN {first:UInt64} AND {last:UInt64}
        AND recorded_at >= toStartOfMonth({from:DateTime64(9, 'UTC')})
    UNION ALL
    SELECT DISTINCT
        'quarantine', stream_seq, recorded_at, hex(SHA256(concat(code, '\0', reason, '\0', header, '\0', data)))
    FROM quarantine
    WHERE incarnation = {incarnation:UUID}
        AND stream_seq BETWEEN {first:UInt64} AND {last:UInt64}
        AND recorded_at >= toStartOfMonth({from:DateTime64(9, 'UTC')})
)
GROUP BY table
