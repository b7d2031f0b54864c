// Package projector reads a stream by sequence and commits what it says to
// the ledger, so that every event counts exactly once.
//
// One batch goes through these states, and a crash in any of them is answered
// by the next start:
//
//	read      messages First..Last from the stream   nothing happened
//	build     rows, a pure function of the messages  nothing happened
//	journal   the range, in the lease entry          the range is read again and
//	tables    one block per table, with tokens       written again with the same
//	commit    the row of commits, last               cut and tokens: nothing twice
//	next      the journal names the next range       a journal at or below the
//	                                                 last commit is dropped
//
// The stream is read in order and never acknowledged: the only checkpoint is
// the table commits. Whatever goes wrong with reading is answered like a crash,
// because the stream may be another one when it is back. One lease entry per
// stream, changed only by compare-and-set, keeps two projectors from writing at
// once; see [Lease].
//
// A batch ends where the month of the stream's time ends, so that no insert
// spans two partitions: an insert is atomic only within one.
//
// An event that is wrong in itself goes to quarantine with its exact bytes and
// the events around it are unaffected. Everything else that goes wrong
// (a server down, memory, too many parts) is waited out.
package projector
