// Package decode turns a message of the stream into an [Event].
//
// The package reads and validates the envelope and the fact. The package computes the
// [Identity] of the event, the key of the identity, and the digest. If the ledger keeps a
// transparency log, [Leaves] adds the event's salt and leaf. An event with violations goes to
// quarantine.
package decode
