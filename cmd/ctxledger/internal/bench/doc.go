// Package bench measures ctxledger on one machine. [Run] compares the projector with the limit of
// its servers. [RunQueries] compares the catalogue of queries with their time limits, on a corpus
// from [SeedStream] or [SeedQuickly].
//
// # The projector
//
//	┌─ this process ─┐       ┌─ child ─┐       ┌─ child ────┐
//	│ preload,       │──────▶│ NATS    │       │ ClickHouse │
//	│ latency        │       └────▲────┘       └─────▲──────┘
//	└───────┬────────┘            │                  │
//	        │          ┌─ child a round ──────┐      │
//	        └─────────▶│ raw copy or projector│──────┘
//	                   └──────────────────────┘
//
// A run preloads the stream with events of package mix. Then it alternates two ways to read the
// whole stream, each into a new database. Other load on the machine therefore affects both ways.
//
//	raw    reads by sequence and inserts the exact bytes of each message, headers and data, as one
//	       string column: no decoding, no validation, no keys. It reads the next batch while it
//	       sends one. Batches have the projector's limits and compression.
//	drain  the projector, until it has read the whole stream. It has the tenants' keys, so it also
//	       searches for withheld values.
//
// After the last drain a run measures the storage. Then it publishes at a steady rate and
// measures the time until an event is queryable; see [Latency].
//
// CPU time is the user and system time of each process. CPU time counts from the start of a round
// until the server runs no merge. Deferred work is therefore included. Peak memory is the
// kernel's high-water mark of the resident set, which is reset before each round. Pages of mapped
// files, such as the engine's code, count. Both come from /proc and are unknown without /proc.
//
// # The corpus
//
// Package mix makes the corpus. The corpus depends only on the seed and the numbers of events,
// tenants and days. SeedStream publishes the corpus to the installation, whose projector makes
// the rows. SeedQuickly makes the rows of a base with a projector and copies them in ClickHouse:
//
//	base    events 1 … B through a stream and the projector   ctxledger_seed_base
//	copy k  INSERT … SELECT of every row of the base           ctxledger_seed
//	          ids        the corpus's mark in them becomes 8 digits of (session, k)
//	          position   + k·B
//	          times      + k·(the time that the base spans)
//
// The digits are a hash of the session and the number of the copy. The copies are therefore mixed
// in the order of the tables, and compress like unrelated sessions. [SeedQuickly] lists the
// differences to projected tables. A test compares all other values with the projector.
//
// # The queries
//
// Each query runs in every [Scope] that its parameters allow. A hash selects turns, sessions and
// tenants from the tables, so the same tables give the same queries. Times are measured by the
// client. On a busy machine, use the CPU time.
package bench
