-- Each insert adds a block to a partition, and blocks are numbered from 1. The highest
-- number is therefore the number of inserted parts.
SELECT table, toUInt64(sum(highest)) AS made, toUInt64(sum(active_parts)) AS live
FROM
(
    SELECT table, partition_id, max(max_block_number) AS highest, countIf(active) AS active_parts
    FROM system.parts
    WHERE database = 'ctxledger_bench'
    GROUP BY table, partition_id
)
GROUP BY table
ORDER BY table
