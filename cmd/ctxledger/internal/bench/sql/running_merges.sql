SELECT count()
FROM system.merges
WHERE database = 'ctxledger_bench'
