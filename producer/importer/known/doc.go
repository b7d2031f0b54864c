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
// The log is parsed from its start, so no state of a parser lies on disk. The token counts of its texts
// do, see [Counts], because counting them again would take most of the time. The ids of the facts of a
// source and their bytes are compared in blocks of 64. A block whose digests are known is not published
// again. Facts wait until the end of their block, so a [Filter] holds at most 64 facts of each source. A
// record that later records correct has another id, so its block is published again.
//
// The design has one digest for all ids and the hash of the log's beginning. With blocks, a
// corrected record costs a block and not the session, and the beginning needs no hash.
//
// # A log that was rewritten
//
// The same telling gives the same bytes for an id, see package importer. A log whose program wrote its
// records anew breaks that rule. Its facts would conflict with those of the stream, or would stand among
// them at the same positions. A [Filter] therefore ends with a [Differs] before it passes on a fact of
// such a source. A [Comparison] then reads the log and tells whether it was rewritten. If so, the caller
// tells the log with [model.Options.Rewritten], as a telling of its own.
//
// The comparison is exact for sources of up to 128 entries. In a longer one, a few entries with other ids
// can pass for corrected ones; no id then has other bytes. An import without a [Source] finds nothing:
// the ledger refuses ids with other bytes, and its quarantine keeps them.
package known
