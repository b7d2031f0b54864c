-- One row a step in the life of a gap.
--
-- Needs: missing.
--
--   HEAD
--   thread_order         Int64                   sequence
--   change               LowCardinality(String)  text
--   missing_id           String                  id
--   scope                LowCardinality(String)  text
--   call_id              String                  id
--   question             String                  text
--   needed_for           String                  text
--   severity             LowCardinality(String)  text
--   candidate_sources    String                  JSON
--   candidate_item_refs  Array(String)           id
--   blocked_actions      Array(String)           text
--   requested_from       String                  id
--   requested_action     String                  text
--   user_summary         String                  text
--   status               LowCardinality(String)  text  open, requested, waiting, resolved, declined, blocked or expired
--   resolution_refs      Array(String)           id
--   policy_refs          Array(String)           id
--   metadata             String                  JSON
CREATE OR REPLACE VIEW gap_steps AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, change, missing_id, scope, call_id, question, needed_for,
    severity, candidate_sources, candidate_item_refs, blocked_actions, requested_from, requested_action, user_summary,
    status, resolution_refs, policy_refs, metadata
FROM missing FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;
