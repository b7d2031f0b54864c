// Package ledger keeps the rows of events in ClickHouse. It derives rows ([Batch]), writes and
// commits them ([Ledger.Write]), and reads the state for the next commit. The package imports
// none of its neighbours. They make and upgrade the tables (migrate), answer questions (read),
// read the transparency logs (translog), keep erased and redacted content out (privacy), and
// replace all tables together (shadow).
//
// # Layout
//
// The tables of facts share one layout: ReplacingMergeTree, a partition a month of recorded_at,
// ORDER BY (tenant, session_id, incarnation, stream_seq). The facts of a session are stored
// together. Months are dropped and merged independently. A row that is stored twice collapses.
// Filters skip granules for queries by turn, call, item or session without a tenant.
//
// Each was chosen against others on the corpus of `ctxledger bench seed --quick` in
// ClickHouse 26.7, on two busy cores: CPU time, the least of three to seven runs.
// Finding is SELECT * … FINAL of one session without its tenant, among 9,500,000
// events; inserting is 100,000 events' rows of the table in one block.
//
//	finding a session in         nothing but the key       with by_session      tenant given
//	  events (512 rows)          2568 ms, 1,394,000 read   59 ms, 30,000 read   19 ms, 7,000 read
//	  items (94)                  827 ms,   595,000 read   12 ms,  8,000 read   14 ms, 8,000 read
//	  placements (93)            1470 ms,   413,000 read   23 ms,  6,000 read   30 ms, 6,000 read
//	  calls (42)                  566 ms,   524,000 read   47 ms, 30,000 read   15 ms, 7,000 read
//
//	inserting into events        985 ms, 12.51 MiB a part
//	  source as String          1026 ms, 12.55 MiB           many sources, but few in a block
//	  data in ZSTD(1), not (3)   854 ms, 12.40 MiB           not seen again on half as many events: 592 against 604 ms
//	  LZ4 where no codec is set  916 ms, 13.66 MiB
//	  without by_turn, by_seq   1071 ms, 12.50 MiB           filters cost less than runs differ
//	  with by_session            589 ms against 604 ms       on half as many events; items 163 against 186,
//	                                                         placements 332 against 309, calls 62 against 73
//
// Values for the standing checks are computed when a row is written: a hash of its correlation
// ids in every table, and sums over the lists of decisions. Before, the checks read eighteen
// ids of each row and all lists: CPU time of all of them, among 20,000,000 events.
//
//	                           everything   the largest of tenants, 5,960,000
//	reckoned when asked for    26 s         11 s
//	kept                       8 to 10      3
//	kept, views with a tenant  7.3          2.0   5 % more on disk
//
// The filters of by_session are 7 to 16 KiB a table for 9,500,000 events, because a
// granule has few sessions. The corpus takes 207 bytes an event, 129 of them in
// events, after the merges that the server began by itself (10,750,000 events).
package ledger
