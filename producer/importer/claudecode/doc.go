// Package claudecode imports session logs of Claude Code.
//
// Claude Code 2.0 and 2.1, JSON lines:
//
//	user                         user_message, system_reminder, skill, injected_message, tool_result, image, document; computed_summary and a summary
//	assistant                    the call (one per message.id, by its record with the most output), assistant_message, reasoning, tool_call
//	attachment, queued_command   user_message; other attachments are dropped: the log does not tell which parts the model saw
//	system:compact_boundary      compaction with its source window; logical_parent_uuid links it
//	system:microcompact_boundary elision; its preTokens is not the size of the window
//	api-request-shape            system_prompt, tool_definition: items without an entry of the log
//	api-request-blob             items of the parts that no record of a message holds
//	api-request                  the window of the call that its answer names, as an assembly
//	cost-state                   no fact; the report names what the client counted and the log lacks
//	progress, agent_progress     the records of a sub-agent, under a source that ends in :progress. The sub-agent's own file tells the
//	                             same calls; both have the provider's message id
//	other progress, file-history-snapshot, queue-operation, summary, titles, modes, other system records: dropped, internal to the program
//
// # Recorded requests
//
// Versions from 2.1.3xx on record their requests. An api-request is the first keep messages of
// the request base, and the messages that tail names. A name is the SHA-256 of the message's
// canonical bytes, see [canonical.Sum]; a shapeHash is that of the system prompt and the tools.
// The message of a name is a blob, an answer (all records of one message.id), a record of the
// user, or the run of the user's records since the last answer. A window whose messages all have
// the digests of their names has the fidelity serialized. A window with a message that the log
// lacks, or with content that differs from its digest, is reconstructed from the records, and the
// report says why.
//
// The recorded system prompt lacks the first block of the wire, a line with the client's version.
// A request without an answer in the log is no call. The summariser of a compaction is not in
// the log: cost-state counts it.
package claudecode
