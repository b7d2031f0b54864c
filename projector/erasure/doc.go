// Package erasure removes the content of a data subject from the streams and the tables.
//
// An [Erasure] publishes facts that name the messages, and waits until the tables have the
// facts. The erasure then deletes the messages and their rows. An Erasure may be interrupted at
// any step and run again. [ReadAbsent] reads the facts again. The facts give the place of an
// erased message, and its leaf in the transparency log.
package erasure
