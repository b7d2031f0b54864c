// Package importer turns the logs that agent programs leave behind into
// context facts, for people who want to see where their context went before
// they change a line of their agent.
//
//	log file ──▶ pass 1: index ──▶ pass 2: facts ──▶ emit(*schema.Event)
//	             one usage per call     in file order
//	             summary of a boundary
//
// An importer invents nothing. What a log does not say is absent from the
// fact, never 0 or "". It keeps native ids, stores no text unless asked to
// ([Options.StoreText]), and holds ids, positions and counts in memory, never
// text, so that memory does not grow with the size of the log's content.
//
// # Idempotency
//
// Event ids are UUIDs of version 5 over the tenant, the session, the record's
// own id and the kind of fact; nothing comes from a clock, a file name or a
// random source. The same log with the same [Options] therefore gives the same
// bytes, and importing a log that has grown gives the earlier events again,
// byte for byte, and then the new ones. There are two exceptions, each with an
// id of its own so that both versions are kept and no bytes conflict:
//
//   - a usage record whose output count grew because the log was cut in the
//     middle of a message: the count is part of the id, and of the versions of
//     one call_id the one with the most output tokens is right;
//   - a compaction that was the last record of the log, before its summary was
//     written: the summary's id is part of the id, and the version that has a
//     summary_ref is right.
//
// Two different logs that hold overlapping parts of one session (snapshots)
// agree on ids but not on positions; import the longest.
//
// # Sources and order
//
// The events of a session's main thread have the source
// urn:ctxledger:import:claude-code:<session>, those of a sub-agent
// urn:ctxledger:import:claude-code:<session>:<thread>: a sub-agent may live in
// a file of its own, and sequence must be contiguous from 1 per source and
// session whichever file is imported first.
//
// # Windows
//
// A model call's window is described by the stretch of the item log that it
// was projected from: everything since the thread's last compaction, its
// summary included, and without what the user rewound (metadata
// entries_not_in_window counts those). Layers: user,
// assistant, reasoning, tool_calls, tool_results, summary, injected; media for
// images and documents, whose tokens no log tells; and elided for tool results
// that a microcompaction replaced by stubs, which are counted as items and
// whose tokens are unknown since the log does not hold the stubs. A layer with
// one item of unknown size has no token count. A log that begins in the middle
// of a session (its first record names a parent that is not there) does not
// hold the first window's start: until the first compaction its calls carry
// metadata partial_window, layers count what the log holds, and where the
// window starts and how much it holds is absent. The system prompt and the tool
// definitions are not in the log, so system, tools and total tokens are
// always absent.
//
// # Bad input
//
// A line that cannot be read is reported as a [Problem] and the lines around
// it are imported. Only a failing reader, a failing emit and a cancelled
// context end an import early.
package importer
