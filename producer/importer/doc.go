// Package importer turns the logs of agent programs into context facts. Users can see how an agent
// used its context without a change to the agent.
//
//	log ──▶ pass 1: index ──▶ pass 2: threads, calls, pieces, boundaries ──▶ writer ──▶ emit(*schema.Event)
//	parser of a format                     the neutral model                   one for all
//
// A parser knows the records of one program and no events. The writer knows events and no
// program. Two programs that log the same task therefore give the same kinds of facts:
//
//   - a context.scope.opened per thread;
//   - a context.item.added and a context.log.appended per piece of a message;
//   - a context.usage.recorded per model call, before the call's items;
//   - a context.assembly.created per model call whose request the log records;
//   - a context.compaction.completed and a context.summary.created where a summary replaces a
//     window;
//   - a context.elision.applied where items are left out or replaced by stubs.
//
// Packages:
//
//	importer                              detects the format, lists files, imports one
//	claudecode, codex, openhands, sweagent  the parser of one format each; none imports another
//	claudebodies                          requests and responses of Claude Code, read as a capture reads them
//	model                                 threads, calls, pieces and boundaries, the writer, options and the report
//	known                                 what earlier imports have stored
//	follow                                which logs have changed since they were imported
//	internal/jsonscan, hashset, completion  JSON values, compact sets and lists, chat completions
//
// [Detect] recognises a format by the members of its records. File names do not matter.
//
// An importer invents nothing. A value that the log does not hold is absent from the fact, never
// 0 or "". The importer keeps native ids. Events hold text only with [model.Options.StoreText].
// Logs of lines are read line by line, documents element by element.
//
// Memory holds ids, positions and counts, never text, so it does not grow with the size of the
// log's content. Memory grows with the entries since the last compaction. Each record, call and
// tool call adds a few hashes and ids. The end of a run frees the memory of the run. One line or
// element is in memory as a whole, up to [model.Options.MaxLineBytes].
//
// # Idempotency
//
// Event ids are UUIDs of version 5 over the tenant, the session, the record's id and the kind of
// fact. No part of an event comes from a clock, a file name or a random source. The same log with
// the same [model.Options] therefore gives the same bytes. An import of a log that has grown
// gives the earlier events again, byte for byte, and then the new ones.
//
// An import with other options, or by an importer of another [model.Revision], is another telling of
// the log. It gives events with the same ids from another source, see [telling.Telling], so nothing
// conflicts. One telling counts in the views of the ledger, the others stay. A log that was rewritten
// after an import is another telling, too, see package known.
//
// There are two exceptions. Each version has another id, so both versions are kept and no bytes
// conflict:
//
//   - A usage record has a higher output count in the longer log, because the shorter log was cut
//     in the middle of a message. The count is part of the id. Of the versions of one call_id,
//     the one with the most output tokens is right.
//   - A compaction was the last record of the shorter log, before its summary was written. The
//     summary's id is part of the id. The version that has a summary_ref is right.
//
// With [model.Options.Growing], facts that a later record may change wait, see TestGrowingLogs. This
// is for logs that are imported while their program writes them.
//
// Two different logs can hold overlapping parts of one session (snapshots). The two logs agree on
// ids but not on positions: import the longest log. A log that begins in the middle of a session is a
// slice: its events have a source that ends in :from: and its first record. Its positions and its
// sequence begin at a number that grows with time. Several slices of one session can therefore be
// imported, and their facts are in the order of the session, unless two slices begin in one millisecond
// (Claude Code: in one second).
// A slice of a Codex rollout without a session_meta is of the session that its file name holds. A slice
// of an OpenHands conversation is of the session that the conversation's state names. Calls that this state
// counts, and whose answers the log lacks, have a source that ends in :counts: and a name. Two
// slices can each have a part of one call. The ledger counts such a call once, see
// [telling.Elsewhere].
//
// # Sources and order
//
// The source of a session's main thread is urn:ctxledger:import:<format>:<session>, that of a
// sub-agent urn:ctxledger:import:<format>:<session>:<thread>. The telling follows. A sub-agent can
// have a separate file, and files can be imported in any order. A source per sub-agent keeps
// sequence contiguous per source and session, from 1 where the log is no slice.
//
// # Windows
//
// The window of a model call is described by a stretch of the item log. The stretch is every
// entry since the thread's last compaction, including the summary. Entries that the user rewound
// are left out; metadata entries_not_in_window counts the entries that are left out. The stretch does
// not name them, so the coverage is partial by user_returned.
//
// The layers are user, assistant, reasoning, tool_calls, tool_results, summary, injected, media
// and elided. Layer media is images and documents; no log holds their tokens. Layer elided is
// tool results that a microcompaction replaced by stubs. Elided results count as items. Their
// tokens are unknown, since the log does not hold the stubs. A layer with one item of unknown
// size has no token count.
//
// A log can begin in the middle of a session: its first record then names a parent that the log
// does not hold. The log then lacks the start of the first window. Until the first compaction,
// the calls have metadata partial_window, and layers count the items that the log holds. The
// start and the size of the window are absent.
//
// Layers system and tools exist where a log holds the system prompt or the tool definitions.
// Total tokens exist only where a log holds both. Logs of Claude Code hold neither.
//
// A call says how its window is known. Fidelity reconstructed means that it was described by the
// item log. Coverage is partial without a system prompt, without tool definitions, and where the
// log lacks entries. Fidelity serialized means that the log records the request itself. Such a
// call has a context.assembly.created with the blocks of the request, and its layers are those of
// the blocks. Layer opaque is content that cannot be read.
//
// # Facts of each record
//
// Metadata record_type is the native type of the record, for all formats except Claude Code.
// [model.Report.Ignored] counts the dropped records, [model.Report.Unknown] the records of
// unlisted types.
//
// The package comments of claudecode, codex, openhands and sweagent have a table each.
//
// # Counts
//
// Buckets are disjoint: a count that the program includes in another count is subtracted from it.
// Metadata reported_totals of a call holds the program's totals under neutral names: input_tokens
// includes cached_input_tokens, output_tokens includes reasoning_tokens. Totals are never divided
// among calls. A text that a scrubber replaced by a mark is an item of unknown size.
//
// # Bad input
//
// A line that cannot be read is reported as a [model.Problem], and the other lines are imported.
// If a document ends early, the part before the end is imported. Only an error of the reader
// or of emit, or a cancelled context, ends an import early.
package importer
