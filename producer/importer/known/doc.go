// Package known remembers what imports have stored. A second import publishes only new facts.
//
//	file ──▶ Folder: is it as it was? ──yes──▶ the report of its last import, nothing is read
//	              │ no
//	              ▼
//	parser ──▶ Filter: which facts does the stream have? ──▶ publisher
//
// There are two memories. A [Folder] on this machine has an [Entry] per log, which is found by the
// log's path and is true while the log's stamp is the same. A [Source] describes the facts that a
// stream has of one source. The caller keeps it in the bucket CTX_IMPORTS, which all machines share.
// Both are safe to lose: the ledger counts each fact once anyway.
//
// Both are only true of the streams in which the facts are. An [Entry] has a [Place] for each
// stream, a [Source] has one, see [Place.Holds].
//
// # A log that has grown
//
// The log is parsed from its start, so no state of a parser lies on disk. The ids of the facts of a
// source are compared in blocks of 64. A block whose digest is known is not published again. Facts
// wait until the end of their block, so a [Filter] holds at most 64 facts of each source. Ids decide,
// because the same telling gives the same bytes for an id, see package importer. A record that later
// records correct has another id, so its block is published again.
//
// The design has one digest for all ids and the hash of the log's beginning. With blocks, a
// corrected record costs a block and not the session, and the beginning needs no hash.
package known
