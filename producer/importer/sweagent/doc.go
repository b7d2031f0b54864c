// Package sweagent imports trajectories of SWE-agent and mini-swe-agent.
//
// SWE-agent 0.2 to 1.1, and mini-swe-agent, one JSON document (each attempt is a session):
//
//	history, messages            system_instruction, demonstration, user_message; assistant_message, reasoning and tool_call (the action is
//	                             removed from the text of the answer); tool_result. Messages of another agent belong to a sub-agent.
//	                             From 1.0 on the task is an observation before the first answer: a user_message, which begins the turn
//	trajectory                   one call per step; a step whose answer is not in the history (parsing failed) is a call without items.
//	                             The next call's window lacks this answer, and its coverage says so.
//	                             If the log has no history, the messages of the steps
//	trajectory[].query           the input of the model: a difference from the history is an elision by the history processors
//	trajectory[].messages        before 1.1: the input of the model at the next step
//	info.model_stats             reported totals of the last call; the use of each call is unknown. mini-swe-agent logs it in extra.response
//	replay_config                model, problem (task), history processors
//	info.exit_status, submission, state, execution_time: dropped, internal to the runtime
//
// Trajectories have no times and no session. Events have the first microseconds of 1970, in
// order, and metadata time_unknown. The session's id is made from the problem and a hash of the
// trial's first answers and configuration. A copy and a later snapshot of a trial therefore have
// the same session, and another trial has another session.
//
// A trajectory that still grows waits until its program has ended, see [model.Options]. Its session
// and the records of its answers are not known before.
package sweagent
