// Package mix makes the events that the benchmarks run on: valid, of every
// type, in the ratios and sizes of real ones, and the same for the same seed.
//
// Sixteen sessions are under way at any time and take turns at random, as in a
// stream that many runtimes write to. They are of two kinds, one begun after
// the other:
//
//	live      what a runtime records through the SDK, after `ctxledger demo`:
//	          for each model call what was offered, chosen, budgeted, assembled,
//	          injected and used, with the items and log entries in between
//	imported  what `ctxledger import` makes of a session log: items, log entries
//	          and usage
//
// Within a session everything hangs together: sequences are contiguous, items
// exist before they are chosen, a call's records name each other, an envelope
// seals its turn. A type that neither the demo nor an import brings about comes
// once in a while, in turn; see measured.go.
//
// The package is pure: it knows no clock, no network and no global randomness.
package mix
