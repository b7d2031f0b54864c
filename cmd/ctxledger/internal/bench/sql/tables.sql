SELECT table, sum(rows) AS table_rows, sum(bytes_on_disk) AS table_bytes, sum(data_uncompressed_bytes) AS plain
FROM system.parts
WHERE database = 'ctxledger_bench' AND active
GROUP BY table
ORDER BY table_bytes DESC, table
