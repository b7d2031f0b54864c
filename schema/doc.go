// Package schema is the event contract of ctxledger: what a context fact is,
// how it travels as a CloudEvent over NATS, and how it is told apart from
// every other fact.
//
// One fact travels like this:
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
// Everything here is pure: no I/O, no clock, no shared mutable state, so every
// function is safe for concurrent use. The package imports neither NATS nor
// ClickHouse; producers, the projector and the ledger share it and nothing
// else.
//
// SEEDS.md says where each statement of the five documents that ctxledger is made from
// lives, in this package and all others, and which test fails without it.
//
// Conventions of the data objects: JSON with snake_case names, the names of
// the Agent Context standard wherever it has one. A number that a runtime may
// not know is a pointer, and nil is "unknown", which is not zero. References
// are strings or objects, see [Ref]. Tokens, bytes and items are counts;
// durations carry their unit in the name.
//
// The Go types and their comments are the source: the JSON Schemas
// (jsonschema/), the AsyncAPI document (asyncapi.json) and [Doc] are generated
// from them, and tests hold the committed files to what is generated, the
// golden events to the schemas by an independent engine, and the schemas to
// those that were released (released/). UPDATE=1 writes the generated files.
//
// Data is read twice where it must be and once where it can: the decoder and
// the walk of the boundary rules are the contract, and most events pass
// through a reader that does both in one pass and only ever says yes (read.go).
// A producer's facts go the same way back, through a writer that spares reading
// them again (write.go).
//
// Unknown types and unknown extensions of newer producers are kept as they
// came. Sources: the Agent Context standard (seed 001), CloudEvents 1.0.2 and
// its NATS protocol binding.
package schema
