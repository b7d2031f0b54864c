// Package ledger keeps the rows of events in ClickHouse. It derives rows ([Batch]), writes and
// commits them ([Ledger.Write]), and reads the state for the next commit. Of its neighbours, the
// package imports only proof. The neighbours:
//
//	proof     the transparency log: records, leaves, trees, signed heads
//	migrate   makes and upgrades the tables and views
//	read      answers questions
//	translog  reads the transparency logs
//	privacy   keeps erased and redacted content out
//	shadow    replaces all tables together
//	archive   copies the tables to files and back
//	cluster   the ledgers of all shards of a cluster, as one
//	evidence  exports evidence packs, and verifies them
//
// # Layout
//
// The tables of facts share one layout: ReplacingMergeTree, a partition a month of recorded_at,
// ORDER BY (tenant, session_id, incarnation, stream_seq). The facts of a session are stored
// together. Months are dropped and merged independently. A row that is stored twice collapses.
// Filters skip granules for queries by turn, call, item or session without a tenant.
//
// Values for the standing checks are computed when a row is written: a hash of its correlation
// ids in every table, and sums over the lists of decisions. BENCHMARKS.md has the figures
// behind the layout.
package ledger
