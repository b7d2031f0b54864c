RENAME DATABASE ctxledger_bench TO {aside:Identifier}
