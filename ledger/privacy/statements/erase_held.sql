SELECT groupUniqArray(stream_seq)
FROM events
WHERE incarnation = {incarnation:UUID} AND stream_seq IN {sequences:Array(UInt64)}
