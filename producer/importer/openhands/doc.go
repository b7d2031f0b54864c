// Package openhands imports session logs of OpenHands.
//
// OpenHands 0.9 to 0.6x. A line is one run or one event, or the file is one document:
//
//	action:system                system_instruction, tool_definition
//	action:message               user_message, or assistant_message
//	action:run, read, edit, …    the call (one per model response), reasoning and assistant_message of its first action, tool_call
//	action:recall                an item that the runtime sees; observation:recall is an injected_message
//	observation:…                tool_result by tool call id, else by cause; else injected_message
//	action:condensation          compaction with the forgotten events and the summary; without a summary an elision without stubs
//	metrics.token_usages         the use of the calls, by response id, else in order; counts without an event are background calls, which
//	                             saw no window of the thread
//	observation:error            of the agent, without a cause: the call whose answer could not be parsed, and an injected_message
//	metrics.accumulated_…        reported totals of the last call
//	agent_state_changed, null, condensation_request, metadata, instance, test_result, error: dropped, internal to the runtime
//
// OpenHands from 1.0 on (its SDK), whose events have a kind:
//
//	SystemPromptEvent            system_instruction, tool_definition; text that it adds for the conversation is a system_instruction, too
//	MessageEvent                 user_message, assistant_message with its call; extended_content is an injected_message
//	ActionEvent                  the call (one per llm_response_id), reasoning, assistant_message, tool_call
//	ObservationEvent, UserRejectObservation, AgentErrorEvent: tool_result of the action that it names, else of its tool call id
//	Condensation                 as above; its model call has no window of the thread
//	base_state.json              the conversation's id, which becomes the session's id, the model, and the use of each response
//	other events of the SDK      dropped: they are internal to the program, or repeat other events
//
// A log of the SDK with the state of its conversation, but without the system prompt at its
// beginning, is a slice of the conversation. Its windows are partial also after a condensation, which
// keeps the first events. A result without its action shows that a part of the log is missing.
//
// The state has the use of all calls. Those whose answer the log lacks are background calls. They have a
// source of their own, see [model.Origin.Counts]: the log can grow, and then have the answer at this
// place. The ledger counts the record that has the answer.
//
// OpenHands keeps a conversation in a folder with one event per file: events/0.json and so on.
// From 1.0 on the names are events/event-00000-<id>.json, next to base_state.json. This folder is
// one log, see [importer.Files]. The first line of the log is base_state.json.
package openhands
