// Package model is the shared part of all parsers: the neutral model of a session, and the writer
// that turns the model into facts.
//
//	Origin      a record of the log: its thread, id, time and line
//	Thread      the state of one thread during the import
//	ModelCall   one call of a model, with its use
//	Piece       one part of a message, which becomes an item
//	Compaction, Elision  boundaries between windows
//	ItemLog     the entries of a thread; a window is a stretch of them
//
// A parser reads records and calls the [Writer]. The writer makes ids, counts tokens and emits
// events. [Options] configure an import. The [Report] holds the totals of an import. A [Problem]
// is a record with unexpected content.
package model
