// Package openhands imports session logs of OpenHands.
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
// folder is one log, see [importer.Files], whose first line is that state.
package openhands
