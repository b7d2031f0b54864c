// Package recheck finds withheld values in events that the ledger already has.
//
// The projector looks for such values from the redaction on. A [Rechecker] finds those in
// events that were recorded before, or while a key was missing.
package recheck
