// Package conformance holds the ACTX suite: the ten cases of Agent Context's runtime profile
// (seed 001) and its five failure cases, by name. A case publishes real events and checks rows of
// the ledger's views:
//
//	events/NAME.txt ──▶ JetStream ──▶ the installation's projector ──▶ rows
//	                                                                    │
//	sql/common.sql, sql/NAME.sql ── expected = found? ◀─────────────────┘
//
// The files hold the events in the form of another runtime: headers and JSON text, in both
// content modes of the CloudEvents NATS binding. The suite does not use our encoder. The suite
// computes the expected rows with a separate parser, which shares no code with package schema's
// decoder.
//
// # Events
//
// A line "== label mode [refused=code] [later]" begins an event. Mode is binary (header lines, an
// empty line, the data) or structured (one JSON document). An event with "refused" must end in
// quarantine under the code. Events with "later" are published after the other events are
// projected. The placeholders $RUN, $SESSION, $SOURCE and $TENANT are replaced. Every id of a
// record ends in $RUN, so a run of a case changes no records of another run.
//
// # Checks
//
// A check is one SELECT with one row: looked_at (number of compared rows), expected and found.
// The check passes if looked_at is not zero and found equals expected. The head of a check holds
// the expectation and the rule. The head also names the scope of the check: a run of the suite, a
// session of another runtime, or both. A check with "unchanged" has the columns looked_at and
// found. This check runs before and after the later events and must find the same.
//
// Parameters of all checks: tenant, session_id and run. Parameters of sql/common.sql:
// incarnation, recorded (lines of the expected events), and the parallel arrays sequences, codes,
// subjects, headers and digests of the refused messages.
package conformance
