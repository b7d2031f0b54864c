-- Blocks of a partition are numbered from 1, one an insert, so the highest
-- number is how many parts were inserted.
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
