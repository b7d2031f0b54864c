// Package decode makes an [Event] of a message of the stream.
//
// It reads the envelope and the fact, validates them, and computes what the ledger knows
// an event by: its [Identity], the key of that, and its digest. Where the ledger keeps a
// transparency log, [Leaves] adds the event's salt and leaf. An event with violations is
// for the quarantine.
package decode
