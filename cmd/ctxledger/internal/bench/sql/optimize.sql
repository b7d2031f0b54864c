OPTIMIZE TABLE ctxledger_bench.{table:Identifier} FINAL
