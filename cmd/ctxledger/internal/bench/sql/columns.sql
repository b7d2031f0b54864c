SELECT table, column, sum(column_data_compressed_bytes) AS bytes, sum(column_data_uncompressed_bytes) AS plain
FROM system.parts_columns
WHERE database = 'ctxledger_bench' AND active
GROUP BY table, column
ORDER BY table, bytes DESC, column
