SELECT toString(_table) AS table, roundDown(stream_seq, {firsts:Array(UInt64)}) AS first_seq, uniqExact(stream_seq)
FROM merge(currentDatabase(), {tables:String})
WHERE incarnation = {incarnation:UUID}
    AND stream_seq BETWEEN {first:UInt64} AND {last:UInt64}
    AND recorded_at >= toStartOfMonth({from:DateTime64(9, 'UTC')})
GROUP BY table, first_seq
