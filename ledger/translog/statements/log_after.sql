SELECT hash
FROM log_hashes FINAL
WHERE incarnation = {incarnation:UUID} AND stream_seq > {after:UInt64} AND stream_seq <= {through:UInt64}
ORDER BY log_index
SETTINGS do_not_merge_across_partitions_select_final = 1
