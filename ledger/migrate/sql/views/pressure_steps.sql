-- One row a rung of the pressure ladder that was tried.
--
-- A fact that one event cannot hold comes in parts under one record id. Single values are
-- in the first part; lists continue from part to part. Rows with part = 1 count facts.
--
-- Needs: windows.
--
--   HEAD
--   thread_order   Int64                   sequence
--   pressure_id    String                  id
--   call_id        String                  id
--   model          LowCardinality(String)  text
--   step           Nullable(Int64)         count
--   step_name      LowCardinality(String)  text
--   policy         LowCardinality(String)  text
--   outcome        LowCardinality(String)  text  applied, skipped, insufficient or failed
--   tokens_before  Nullable(Int64)         tokens
--   tokens_after   Nullable(Int64)         tokens
--   limit_tokens   Nullable(Int64)         tokens
--   item_refs      Array(String)           id
--   summary_ref    String                  id      the summary that stands for them
--   reason         String                  text
--   metadata       String                  JSON
--   part           Int64                   count
--   parts          Int64                   count
CREATE OR REPLACE VIEW pressure_steps AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, record_id AS pressure_id, call_id, model, step, step_name,
    policy, outcome, tokens_before, tokens_after, limit_tokens, item_refs, summary_ref, reason, metadata,
    greatest(JSONExtractInt(metadata, 'part'), 1) AS part, greatest(JSONExtractInt(metadata, 'parts'), 1) AS parts
FROM windows FINAL
WHERE record_kind = 'pressure'
SETTINGS do_not_merge_across_partitions_select_final = 1;
