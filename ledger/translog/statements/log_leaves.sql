SELECT hash
FROM log_hashes FINAL
WHERE incarnation = {incarnation:UUID} AND log_index >= {from:UInt64} AND log_index < {to:UInt64}
ORDER BY log_index
SETTINGS do_not_merge_across_partitions_select_final = 1
