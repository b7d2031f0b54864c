SELECT log_index
FROM log_hashes
WHERE incarnation = {incarnation:UUID} AND stream_seq = {sequence:UInt64}
LIMIT 1
