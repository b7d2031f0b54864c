// Package erasure takes the content of a data subject out of the streams and the tables.
//
// An [Erasure] publishes facts that name the messages, waits until the facts are in the
// tables, deletes the messages, and deletes their rows. It may be cut off anywhere and run
// again. [ReadAbsent] reads the facts again: they say where an erased message stood, and
// which leaf the transparency log has for it.
package erasure
