// Package recheck finds withheld values in events of the ledger.
//
// The projector finds withheld values only in messages after the redaction. A [Rechecker] finds
// withheld values in events that were recorded earlier, or while a key was missing. It also searches the
// texts that these events name, which no projector reads.
package recheck
