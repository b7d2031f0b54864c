// Package observe turns the exchanges of a session into facts: which thread an exchange
// continues, and what entered, left or was shortened since the thread's last window.
//
//	Exchange ──▶ Session.Observe ──▶ facts, in order
//
// # Threads
//
// A session has threads. An exchange continues the thread whose last window shares the longest
// prefix of message blocks, reminders apart. A window whose first messages hold an earlier answer of a thread
// also continues it: a compaction replaced its messages. Any other window begins a new thread.
// A thread is the child of another if a tool call of the other was open when the thread began,
// and the result of this call holds the thread's answer.
//
// # Changes
//
//	entered    the block is not in the last window: an item, and an injection
//	shortened  the block has the tool call of an earlier block and fewer tokens: an elision
//	restored   a shortened block has its first content again: an elision that is reloaded
//	left       the block is in the last window only: the injection is removed
//	compacted  a run of messages left from the front, and a block in their place holds an
//	           earlier answer: a compaction with a summary
//
// A compaction has its proof in its validation: "equal" if a block is the answer, "contained"
// if it has at least 90 % of the answer's lines. Without a proof the blocks only left. No fact
// is a selection, because nobody stated one.
//
// # Identity
//
// Item, thread and turn ids depend on the session and on blocks alone. A session has its state
// in [Session], which encodes to JSON. A program that keeps the state continues the session
// with the same facts that it would have given without an end.
//
// The package is pure. A Session is for one goroutine at a time.
package observe
