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
// [Detect] tells formats by their records' members, not by file names.
//
// An importer invents nothing. What a log does not say is absent from the
// fact, never 0 or "". It keeps native ids, stores no text unless asked to
// ([Options.StoreText]), and holds ids, positions and counts in memory, never
// text, so that memory does not grow with the size of the log's content. Logs of
// lines are read line by line, documents element by element.
//
// What does grow is what a window and a report are made of: the entries since
// the last compaction, and for the whole log a few hashes and ids for each
// record, call and tool call. For a step of an agent (a call, its answer, a tool's
// result) of one OpenHands run that nothing condenses that is about 0.5 kB, measured
// over 126,799 steps; what a run needed is given back at its end. Beside it stand
// one line or element, as long as it is, up to [Options.MaxLineBytes], and its
// values. A process that imported 1 GB without token counts took, at its peak, 94
// to 103 MB for Claude Code, 100 MB for Codex with lines out of order (2.6 million
// of them), 109 MB for OpenHands and 127 MB for SWE-agent, whose log is one window.
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
// record_type. What is dropped is counted in [Report.Ignored], and a type that
// is not listed is a [Problem].
//
// Claude Code 2.0 and 2.1, JSON lines:
//
//	user                         user_message, system_reminder, skill, injected_message, tool_result, image, document; computed_summary and a summary
//	assistant                    the call (one per message.id, by its record with the most output), assistant_message, reasoning, tool_call
//	attachment, queued_command   user_message; other attachments are dropped: the log does not say what of them the model saw
//	system:compact_boundary      compaction with its source window; logical_parent_uuid links it
//	system:microcompact_boundary elision; its preTokens is not the size of the window
//	progress, file-history-snapshot, queue-operation, summary, titles, modes, other system records: dropped, the program's own
//
// Codex, JSON lines, wrapped (CLI 0.32 and later) or bare:
//
//	session_meta                 scope; base_instructions are a system_instruction. A second one with the id of an ancestor begins copies
//	                             of its records, with the session's own id it was resumed (dropped), with another id it begins a session
//	response_item:message        user_message, assistant_message, injected_message (developer; what the program wrote in the user's name)
//	response_item:reasoning      reasoning, of unknown size where it is encrypted; its display summary is dropped
//	…:function_call, custom_tool_call, local_shell_call, and their outputs: tool_call, tool_result
//	…:web_search_call, image_generation_call, tool_search_call: tool_call of type codex:…, which the provider answers itself
//	event_msg:token_count        the use of the call whose items stand before it, where the total changed; repeats are dropped.
//	                             Cached input is taken out of the input, reasoning out of the output
//	event_msg:task_started, turn_context: the turn and the model
//	event_msg:thread_rolled_back the window without the turns
//	compacted                    compaction: what of the replacement history the window holds is retained, the rest are new items; a
//	                             compaction item or the message is the summary
//	other event_msg              dropped: they repeat response items for the interface, or say what became of a turn
//	response_item:ghost_snapshot dropped: no model sees it
//
// Copies of an ancestor's records in a forked rollout become items (the window
// holds them, metadata replayed) and no calls: those are the ancestor's. Without
// counts, an answer after new input is a call whose use is unknown.
//
// SWE-agent 0.2 to 1.1, and mini-swe-agent, one JSON document (attempts: a
// session each):
//
//	history, messages            system_instruction, demonstration, user_message; assistant_message, reasoning and tool_call (the action is
//	                             taken out of the text that it was written into); tool_result. Another agent's are a sub-agent's
//	trajectory                   one call a step; a step whose answer is not in the history (it could not be parsed) is a call without
//	                             items. Without a history, its messages
//	trajectory[].query, messages what the model was shown: what differs from the history is an elision by the history processors
//	info.model_stats             reported totals of the last call; what each call used is not told. mini-swe-agent tells it in extra.response
//	replay_config                model, problem (task), history processors
//	info.exit_status, submission, state, execution_time: dropped, they are the runtime's
//
// Trajectories tell no times and no session: events have the first microseconds
// of 1970, in order, and metadata time_unknown; the session is named by the
// problem, and by a hash of the trial's first answers and configuration, so that
// a copy and a later snapshot are the same session and another trial is not.
//
// OpenHands 0.9 to 0.6x, a run a line, one document, or an event a line:
//
//	action:system                system_instruction, tool_definition
//	action:message               user_message, or assistant_message
//	action:run, read, edit, …    the call (one per model response), reasoning and assistant_message of its first action, tool_call
//	action:recall                an item that the runtime sees; observation:recall is an injected_message
//	observation:…                tool_result by tool call id, else by cause; else injected_message
//	action:condensation          compaction with the forgotten events and the summary; without a summary an elision that leaves nothing
//	metrics.token_usages         the use of the calls, by response id, else in order; those of no event are background calls, which saw
//	                             no window of the thread
//	metrics.accumulated_…        reported totals of the last call
//	agent_state_changed, null, condensation_request, metadata, instance, test_result, error: dropped, the runtime's
//
// OpenHands from 1.0 on (its SDK), whose events have a kind:
//
//	SystemPromptEvent            system_instruction, tool_definition; what it adds for the conversation is a system_instruction, too
//	MessageEvent                 user_message, assistant_message with its call; extended_content is an injected_message
//	ActionEvent                  the call (one per llm_response_id), reasoning, assistant_message, tool_call
//	ObservationEvent, UserRejectObservation, AgentErrorEvent: tool_result of the action that it names, else of its tool call id
//	Condensation                 as above; its own call is one without the thread's window
//	base_state.json              the conversation's id, which is the session's, the model, and what each response used
//	other events of the SDK      dropped: they are the program's own, or repeat others
//
// OpenHands keeps a conversation in a folder, one event a file: events/0.json and
// so on, from 1.0 on events/event-00000-<id>.json beside base_state.json. Such a
// folder is one log, see [Files], whose first line is that state.
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
// A line that cannot be read is reported as a [Problem] and the lines around
// it are imported. Of a document that ends early, what stands before its end is
// imported. Only a failing reader, a failing emit and a cancelled
// context end an import early.
package importer
