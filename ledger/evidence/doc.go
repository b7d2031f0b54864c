// Package evidence exports packs: it reads the events of a turn, a run or a session
// from ClickHouse in log order, proves them against the newest signed head of their
// log, and writes the pack with the documents that package document derives of it.
//
// All of it streams: what is held of a pack is 8 bytes a record for the proof, and what
// the documents need, see [document]. A pack appears whole, under its name, or not at
// all.
//
// What an erasure took of the scope is in a later pack, too: its place and leaf, and the
// facts of erasures that name it, from whichever log they are in. Such a fact names
// records of other scopes as well, by their ids; the facts of a pack are in memory while
// their log is written, 64 KiB each.
//
// No value that a redaction withholds leaves in a pack: every record and every byte
// that is written is searched for the tenant's fingerprints, as far as the keys are at
// hand, and one that is found ends the export. What is said of it is the place and the
// policy, never the value.
package evidence
