// Package model is what the parsers of all formats share: the neutral model of a
// session, and the writer that turns it into facts.
//
//	Origin      a record of the log: its thread, id, time and line
//	Thread      the state of one thread while its facts are made
//	ModelCall   one call of a model, with its use
//	Piece       one part of a message, which becomes an item
//	Compaction, Elision  boundaries between windows
//	ItemLog     the entries of a thread, of which a window is a stretch
//
// A parser reads records and calls the [Writer], which makes ids, counts tokens and
// emits events. [Options] configure an import, the [Report] sums it up, and a
// [Problem] is a record that could not be read as expected.
package model
