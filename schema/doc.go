// Package schema is the event contract of ctxledger. The package defines the context facts, their
// form as CloudEvents over NATS, and the identity of each fact.
//
// One fact travels in these steps:
//
//	Fact (Go struct, fact_*.go)             what happened, typed
//	   │ Encode                             event.go: envelope + JSON data
//	   ▼
//	Event (CloudEvents 1.0 attributes)      identity = (tenant, source, id)
//	   │ Binary / Structured                binding.go: CloudEvents NATS binding
//	   ▼
//	Message (subject, header, payload)      subject.go: ctx.v1.<tenant>.…
//	   │ ParseMessage
//	   ▼
//	Event ── Decode ──▶ Fact ── Validate ──▶ []Violation
//
// All functions are pure: they do no I/O, read no clock and share no mutable state. All of them
// are safe for concurrent use. The package imports neither NATS nor ClickHouse. Producers, the
// projector and the ledger share no other code.
//
// SEEDS.md lists the statements of the five documents that ctxledger implements. For each
// statement, it names the code and the test that fails without the code.
//
// Data objects are JSON with snake_case names. Members have the names of the Agent Context
// standard if the standard defines a name. A number that a runtime may not know is a
// pointer. Nil means "unknown" and differs from zero. References are strings or objects, see
// [Ref]. Tokens, bytes and items are counts. Names of durations end with their unit.
//
// The Go types and their comments are the source of the JSON Schemas (jsonschema/), the AsyncAPI
// document (asyncapi.json) and [Doc]. Tests compare the committed files with the generated text.
// An independent engine validates the golden events against the schemas. Another test compares
// the schemas with the released schemas (released/). UPDATE=1 writes the generated files.
//
// JSON Schema expresses names, types, required members, and that they are not empty. It does not
// express the boundary rules, conservation, ids that name their own record, blank texts, and the
// forms of attributes, digests and fingerprints: [Doc] lists these rules. The schemas refuse nothing
// that Go accepts. Rules of [CheckDoor] and [CheckKnown] hold from
// a position of a stream on.
//
// The decoder and the walk of the boundary rules define the contract. A reader that decodes and
// checks in one pass accepts most events (read.go). The reader leaves all other events to the
// decoder and the walk. A writer encodes and checks a producer's facts in one pass (write.go).
//
// The packages below this one:
//
//	canonical    brings a block into one form, so that equal blocks have equal digests
//	fingerprint  finds values in texts without copies of the values
//	standard     writes events as documents of the public standards
//	telling      reads how the log of an imported fact was told
//
// Unknown types and unknown extensions of newer producers are kept unchanged. Sources: the Agent
// Context standard (seed 001), CloudEvents 1.0.2 and its NATS protocol binding.
package schema
