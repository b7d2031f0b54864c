SELECT stream_seq, hash, toString(tenant)
FROM log_hashes
WHERE incarnation = {incarnation:UUID} AND stream_seq IN {sequences:Array(UInt64)}
