// Package codex imports session logs of Codex.
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
package codex
