// Package recheck finds withheld values in events of the ledger.
//
// The projector finds withheld values only in messages after the redaction. A [Rechecker] finds
// withheld values in events that were recorded earlier, or while a key was missing.
package recheck
