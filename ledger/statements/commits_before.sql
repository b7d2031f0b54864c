SELECT first_seq, last_seq, messages, digest, recorded_at, epoch, rows, tree_root
FROM commits FINAL
WHERE incarnation = {incarnation:UUID} AND first_seq < {first:UInt64}
ORDER BY first_seq DESC, last_seq DESC
LIMIT {limit:UInt64}
SETTINGS do_not_merge_across_partitions_select_final = 1
