SELECT table, count() AS parts
FROM system.parts
WHERE database = 'ctxledger_bench' AND active
GROUP BY table
ORDER BY parts DESC, table
