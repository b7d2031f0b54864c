SELECT groupArray(name)
FROM system.databases
WHERE name = 'ctxledger_bench' OR match(name, '^ctxledger_bench_[0-9]+$')
