// Package document derives the documents of an evidence pack from its records.
//
// A pack is a function of its records: of every file that this package makes, each
// byte follows from the records in log order and from the header of the pack.
// Whoever exports writes the files; whoever verifies derives them again and compares
// (see [Comparer]), so that a changed byte has a file, a line and a record. Everything
// here is pure and streams: what is held is some sixteen bytes for each id that the
// records name, the newest window of a number of turns for the README, and a bounded
// number of open gaps.
//
// # Files
//
//	context/<kind>.json  the documents of the Agent Context standard (0.1.0)
//	pack.json            what the pack is about, what is in it and what is not
//	source-map.json      every record and source that the records name, once; omissions
//	provenance.json      W3C PROV style: a node a record, a node a thing named, edges
//	replay.json          the windows that could be replayed, and what lacks for it
//	verification.json    what the exporter checked, and what it leaves to the reader
//	README.md            for people, with the windows of turns drawn
//	export-manifest.json every other file, see [Manifest]
//
// Lists stand one element a line. A file with two lists comes in two parts that are
// written at the same time, see [Part].
//
// # No payloads
//
// Documents cite (ACTX-AR-EVID-001): where a producer put content into a fact, the
// document says in which record of events.ndjson it stands and leaves it out, and
// context/events.json has no data. Titles, notes and reasons are kept.
//
// # Closure
//
// Every id gets its node, and its entry in the source map, where the records name it
// first, also when the fact that made it is outside the scope, was erased or is
// withheld. So every end of an edge is a node, and every omission, redaction and
// replay reference names a source. A record that was erased keeps its node and has an
// edge to its erasure.
//
// # Unknown is not passed
//
// What nobody collected has the status not_collected. A pack says of itself only what
// its records show; signature, inclusion and completeness are for its reader to check
// and are reported as skipped.
package document
