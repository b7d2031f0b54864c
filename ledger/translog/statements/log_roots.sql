SELECT substring(above, {offset:UInt32}, 32)
FROM log_hashes FINAL
WHERE incarnation = {incarnation:UUID}
    AND log_index IN (SELECT {first:UInt64} + number * {step:UInt64} FROM numbers({n:UInt64}))
ORDER BY log_index
SETTINGS do_not_merge_across_partitions_select_final = 1
