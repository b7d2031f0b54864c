SELECT roundDown(stream_seq, {firsts:Array(UInt64)}) AS first_seq, uniqExact(stream_seq)
FROM {table:Identifier}
WHERE incarnation = {incarnation:UUID}
    AND stream_seq BETWEEN {first:UInt64} AND {last:UInt64}
    AND recorded_at >= toStartOfMonth({from:DateTime64(9, 'UTC')})
GROUP BY first_seq
