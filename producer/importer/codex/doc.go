// Package codex imports session logs of Codex.
//
// Codex, JSON lines, wrapped (CLI 0.32 and later) or bare:
//
//	session_meta                 scope; base_instructions are a system_instruction. A second one with the id of an ancestor begins copies
//	                             of its records; with the session's id it marks a resumed session (dropped); with another id it begins a
//	                             session
//	response_item:message        user_message, assistant_message, injected_message (role developer, or text of the program in the role user)
//	response_item:reasoning      reasoning, of unknown size if encrypted; its display summary is dropped
//	…:function_call, custom_tool_call, local_shell_call, and their outputs: tool_call, tool_result
//	…:web_search_call, image_generation_call, tool_search_call: tool_call of type codex:…; the provider runs the tool
//	event_msg:token_count        the use of the call whose items are before it, where the total changed; repeats are dropped.
//	                             Cached input is subtracted from the input, reasoning from the output
//	token_usage_record           the provider's id of the answer; the token_count after it has the counts
//	world_state                  dropped: the state of the program, of which messages tell the model
//	event_msg:task_started, turn_context: the turn and the model
//	event_msg:thread_rolled_back the window without the turns
//	compacted                    compaction: entries of the replacement history that the window holds are retained, the others are new
//	                             items; a compaction item or the message is the summary
//	other event_msg              dropped: they repeat response items for the interface, or give the result of a turn
//	response_item:ghost_snapshot dropped: no model sees it
//
// A log that begins in the middle of a session is a slice. The first count of a slice tells the call
// that it ends, although the call may have begun before the slice. A call whose count comes after the
// slice has unknown use.
//
// Versions with a token_usage_record send base instructions without the sections about tools that
// the model does not get. The log holds all sections, so the coverage of their calls names the
// system prompt. No version logs the tool definitions.
//
// A forked rollout holds copies of an ancestor's records. The copies become items with metadata
// replayed, since the window holds them. They become no calls, since the calls belong to the
// ancestor. In a log without counts, an answer after new input is a call of unknown use.
package codex
