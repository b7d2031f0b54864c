SELECT DISTINCT tenant, erased_stream, erased_seq, leaf
FROM erased_records
WHERE erased_seq IN {sequences:Array(UInt64)}
