-- One row a version of a summary.
--
-- Needs: replacements, retold.
--
--   HEAD
--   thread_order             Int64                   sequence
--   change                   LowCardinality(String)  text
--   summary_id               String                  id
--   summary_kind             LowCardinality(String)  text
--   source_item_refs         Array(String)           id
--   content_ref              String                  id
--   content_digest           String                  text
--   tokens                   Nullable(Int64)         tokens
--   covers_through_position  Nullable(Int64)         position
--   loss_notes               Array(String)           text
--   open_questions           Array(String)           text
--   refresh_policy           LowCardinality(String)  text
--   ephemeral_context_id     String                  id
--   summarizer_call_id       String                  id
--   goal_refs                Array(String)           id
--   metadata                 String                  JSON
CREATE OR REPLACE VIEW summaries AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, change, record_id AS summary_id, summary_kind,
    source_item_refs, content_ref, content_digest, tokens, covers_through_position, loss_notes, open_questions,
    refresh_policy, ephemeral_context_id, summarizer_call_id, goal_refs, metadata
FROM replacements FINAL
WHERE record_kind = 'summary' AND (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
SETTINGS do_not_merge_across_partitions_select_final = 1;
