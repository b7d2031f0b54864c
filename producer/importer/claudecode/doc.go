// Package claudecode imports session logs of Claude Code.
//
// Claude Code 2.0 and 2.1, JSON lines:
//
//	user                         user_message, system_reminder, skill, injected_message, tool_result, image, document; computed_summary and a summary
//	assistant                    the call (one per message.id, by its record with the most output), assistant_message, reasoning, tool_call
//	attachment, queued_command   user_message; other attachments are dropped: the log does not tell which parts the model saw
//	system:compact_boundary      compaction with its source window; logical_parent_uuid links it
//	system:microcompact_boundary elision; its preTokens is not the size of the window
//	progress, file-history-snapshot, queue-operation, summary, titles, modes, other system records: dropped, internal to the program
package claudecode
