// Package bench measures ctxledger on one machine: [Run] the projector against the
// limit of its servers, [RunQueries] the catalogue of queries against their bars, on
// a corpus of any size that [SeedStream] or [SeedQuickly] makes.
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
// A run preloads the stream with events of package mix, then alternates two
// ways to empty it, each into a fresh database, so that whatever else the
// machine does hits both alike:
//
//	raw    reads by sequence and inserts each message's exact bytes, headers and
//	       data, as one string column: no decoding, no validation, no keys. The
//	       next batch is read while one is sent. Batches close by the projector's
//	       limits, and travel and rest in the projector's compression.
//	drain  the projector as it is, until it is caught up; it has the tenants' keys,
//	       so that it also looks for values that come back after a redaction
//
// After the last drain it looks at what was written, and then publishes at a
// steady rate to measure how long an event takes to be queryable; see
// [Latency].
//
// CPU time is user and system time of each process, from the start of a round
// until the server has no merge under way, so that work put off is counted. Peak
// memory is the kernel's high-water mark of the resident set, set back before
// each round; pages of mapped files, such as the engine's code, count. Both are
// read from /proc and unknown where there is none.
//
// # The corpus
//
// Package mix makes it, a pure function of seed, number of events, tenants and days.
// SeedStream lets the installation make rows of it, which is the truth. SeedQuickly
// lets it make rows of a base, and multiplies these in ClickHouse:
//
//	base    events 1 … B through a stream and the projector   ctxledger_seed_base
//	copy k  INSERT … SELECT of every row of the base           ctxledger_seed
//	          ids        the corpus's mark in them becomes 8 digits of (session, k)
//	          position   + k·B
//	          times      + k·(the time that the base spans)
//
// The digits are a hash of the session with the number of the copy mixed in, so that
// copies lie among each other in the order of the tables, and compress like
// sessions that have nothing to do with each other. What such tables lack is listed
// at [SeedQuickly]; a test holds all the rest against the projector.
//
// # The queries
//
// Each is asked in every [Scope] that its parameters allow, about turns, sessions and
// tenants that are drawn from the tables by a hash, so that the same tables are asked
// the same. Times are a client's; on a busy machine look at the CPU time beside them.
package bench
