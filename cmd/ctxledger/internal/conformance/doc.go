// Package conformance holds the ACTX suite: the ten cases of Agent Context's
// runtime profile (seed 001) and its five failure cases, by name. A case
// publishes real events and asserts on rows of the ledger's views, never on
// structs:
//
//	events/NAME.txt ──▶ JetStream ──▶ the installation's projector ──▶ rows
//	                                                                    │
//	sql/common.sql, sql/NAME.sql ── expected = found? ◀─────────────────┘
//
// The events stand in the files as another runtime would send them: headers and
// JSON text, in both content modes of the CloudEvents NATS binding, and never
// through our own encoder. What should have become of them is worked out by a
// reading of the text that shares no code with package schema's decoder.
//
// # Events
//
// A line "== label mode [refused=code] [later]" begins an event. Mode is binary
// (header lines, an empty line, the data) or structured (one JSON document). An
// event that says refused must end in quarantine under that code. Events marked
// later are published once the others are projected. $RUN, $SESSION, $SOURCE
// and $TENANT are replaced; every id of a record ends in $RUN, so that a case
// touches no record but its own, however often it runs.
//
// # Checks
//
// A check is one SELECT that yields one row: looked_at (how many rows it could
// judge), expected and found. It holds when looked_at is not zero and found is
// expected. Its head says what is expected, under which rule, and where it
// applies: on a run of the suite, on a session that another runtime recorded,
// or on both. A check that says unchanged yields looked_at and found; it is
// asked before and after the later events and must find the same.
//
// Parameters: tenant, session_id and run; for sql/common.sql also incarnation,
// recorded (the events that must be there, as lines), and sequences, codes,
// subjects, headers and digests of the refused messages, in parallel.
package conformance
