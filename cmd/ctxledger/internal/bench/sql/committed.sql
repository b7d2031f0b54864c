SELECT max(last_seq)
FROM ctxledger_bench.commits
WHERE incarnation = {incarnation:UUID} AND first_seq > {seen:UInt64}
