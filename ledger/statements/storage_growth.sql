SELECT written.1 AS table, sumIf(written.2, recorded_at >= now() - INTERVAL 1 HOUR), sum(written.2)
FROM commits FINAL
ARRAY JOIN CAST(rows, 'Array(Tuple(String, UInt64))') AS written
WHERE recorded_at >= now() - INTERVAL 1 DAY
GROUP BY table
