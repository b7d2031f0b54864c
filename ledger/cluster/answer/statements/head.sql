SELECT max(recorded_at)
FROM ledger_head
