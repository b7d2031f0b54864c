// Package document derives the documents of an evidence pack from its records.
//
// A pack is a function of its records. Every byte of every file from this package follows from the
// records in log order and from the header. The exporter writes the files. The verifier derives the
// files again and compares, see [Comparer]. Each changed byte therefore has a file, a line and a
// record. The package is pure and streams. Memory holds some bytes for each id in the records. The
// number of windows and of open gaps in memory is bounded.
//
// # Files
//
//	context/<kind>.json  the documents of the Agent Context standard (0.1.0)
//	pack.json            scope, contents and gaps of the pack
//	source-map.json      every record and source that the records name, once; omissions
//	provenance.json      W3C PROV style: a node for each record and each named thing, edges
//	replay.json          the replayable windows, and the missing parts for a replay
//	verification.json    checks by the exporter, and checks left to the reader
//	README.md            for people, with drawings of the turns' windows
//	export-manifest.json every other file, see [Manifest]
//
// Each element of a list has its own line. A file with two lists consists of two parts, which are
// written in parallel, see [Part].
//
// # No payloads
//
// Documents cite content instead of repeating it (ACTX-AR-EVID-001). A document names the record in
// events.ndjson with the content. Events in context/events.json have no data. Titles, notes and
// reasons are kept.
//
// # Closure
//
// Every id gets a node and an entry in the source map at the first record that names the id. The
// fact that made the id can be outside of the scope, erased or withheld. Every end of an edge is
// therefore a node. Every omission, redaction and replay reference names a source. An erased record
// keeps its node and has an edge to its erasure.
//
// # Unknown is not passed
//
// Data that nobody collected has the status not_collected. The pack's statements about itself
// follow only from its records. Signature, inclusion and completeness are left to the reader, and
// are reported as skipped.
package document
