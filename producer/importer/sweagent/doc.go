// Package sweagent imports trajectories of SWE-agent and mini-swe-agent.
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
package sweagent
