// Package importer turns the logs that agent programs leave behind into
// context facts, for people who want to see where their context went before
// they change a line of their agent.
//
//	log ──▶ pass 1: index ──▶ pass 2: threads, calls, pieces, boundaries ──▶ writer ──▶ emit(*schema.Event)
//	parser of a format                     the neutral model                   one for all
//
// A parser knows one program's records and nothing of events; the writer knows
// no program. So the same task, logged by two programs, becomes the same kinds
// of facts: a context.scope.opened per thread; a context.item.added and a
// context.log.appended per piece of a message; a context.usage.recorded per
// model call, before the call's own items; a context.compaction.completed and a
// context.summary.created where a summary takes the place of a window; a
// context.elision.applied where items are left out or cut to stubs.
//
// Packages:
//
//	importer                              detects the format, lists files, imports one
//	claudecode, codex, openhands, sweagent  the parser of one format each; none imports another
//	model                                 threads, calls, pieces and boundaries, the writer, options and the report
//	internal/jsonscan, hashset, completion  JSON values, compact sets and lists, chat completions
//
// [Detect] tells formats by their records' members, not by file names.
//
// An importer invents nothing. What a log does not say is absent from the
// fact, never 0 or "". It keeps native ids, stores no text unless asked to
// ([model.Options.StoreText]), and holds ids, positions and counts in memory, never
// text, so that memory does not grow with the size of the log's content. Logs of
// lines are read line by line, documents element by element.
//
// What does grow is what a window and a report are made of: the entries since
// the last compaction, and for the whole log a few hashes and ids for each
// record, call and tool call. For a step of an agent (a call, its answer, a tool's
// result) of one OpenHands run that nothing condenses that is about 0.5 kB, measured
// over 126,799 steps; what a run needed is given back at its end. Beside it stand
// one line or element, as long as it is, up to [model.Options.MaxLineBytes], and its
// values. A process that imported 1 GB without token counts took, at its peak, 94
// to 103 MB for Claude Code, 100 MB for Codex with lines out of order (2.6 million
// of them), 109 MB for OpenHands and 127 MB for SWE-agent, whose log is one window.
//
// # Idempotency
//
// Event ids are UUIDs of version 5 over the tenant, the session, the record's
// own id and the kind of fact; nothing comes from a clock, a file name or a
// random source. The same log with the same [model.Options] therefore gives the same
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
// urn:ctxledger:import:<format>:<session>, those of a sub-agent
// urn:ctxledger:import:<format>:<session>:<thread>: a sub-agent may live in
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
// Layers system and tools exist where a log holds the system prompt or the tool
// definitions; totals are there only where it holds both.
//
// # What each record becomes
//
// Facts of all formats but Claude Code's say the native type in metadata
// record_type. What is dropped is counted in [model.Report.Ignored], and a type that
// is not listed is a [model.Problem].
//
// The package comments of claudecode, codex, openhands and sweagent have a table
// each.
//
// # Counts
//
// Buckets are disjoint: what a program counts inside another number is taken
// out. A program's own totals stand in metadata reported_totals of a call, with
// neutral names (input_tokens holds cached_input_tokens, output_tokens holds
// reasoning_tokens), and are never spread over calls. A scrubber's mark in the
// place of a whole text is an item whose size is unknown.
//
// # Bad input
//
// A line that cannot be read is reported as a [model.Problem] and the lines around
// it are imported. Of a document that ends early, what stands before its end is
// imported. Only a failing reader, a failing emit and a cancelled
// context end an import early.
package importer
