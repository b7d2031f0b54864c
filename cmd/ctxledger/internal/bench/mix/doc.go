// Package mix makes the events of the benchmarks. The events are valid, include every type, and
// have the ratios and sizes of real events. The same seed gives the same events.
//
// Sixteen sessions run at any time, in random alternation, like in a stream with many runtimes.
// The sessions are of two kinds, in alternation:
//
//	live      a runtime's records through the SDK, like `ctxledger demo`: for each model call the
//	          offer, the choice, the budget, the assembly, the injection and the usage, with items
//	          and log entries in between
//	imported  the facts of `ctxledger import` for a session log: items, log entries and usage
//
// The events of a session are consistent. Sequences are contiguous, items exist before they are
// chosen, records of a call name each other, and an envelope seals each turn. Types that neither
// the demo nor an import has occur rarely, in rotation; see measured.go.
//
// The package uses no clock, no network and no global randomness.
package mix
