-- One row an elision pass, or the reload of one.
--
-- A fact that one event cannot hold comes in parts under one record id. Single values are
-- in the first part; lists continue from part to part. Rows with part = 1 count facts.
--
-- Needs: replacements, retold.
--
--   HEAD
--   thread_order            Int64                          sequence
--   change                  LowCardinality(String)         text
--   pass_id                 String                         id
--   call_id                 String                         id
--   policy                  LowCardinality(String)         text
--   trigger                 LowCardinality(String)         text
--   level                   LowCardinality(String)         text
--   tokens_before           Nullable(Int64)                tokens
--   tokens_after            Nullable(Int64)                tokens
--   tokens_saved            Nullable(Int64)                tokens
--   first_changed_position  Nullable(Int64)                tokens
--   elided_refs             Array(String)                  id
--   elided_tool_call_ids    Array(String)                  id
--   elided_positions        Array(Nullable(Int64))         position
--   elided_before           Array(Nullable(Int64))         tokens
--   elided_after            Array(Nullable(Int64))         tokens
--   elided_levels           Array(LowCardinality(String))  text
--   elided_reload_refs      Array(String)                  id
--   elided_notes            Array(String)                  text
--   elided_stub_digests     Array(String)                  text
--   elided_reasons          Array(String)                  text
--   metadata                String                         JSON
--   part                    Int64                          count
--   parts                   Int64                          count
CREATE OR REPLACE VIEW elisions AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, change, record_id AS pass_id, call_id, policy, trigger,
    level, tokens_before, tokens_after, tokens_saved, first_changed_position, elided_refs, elided_tool_call_ids,
    elided_positions, elided_before, elided_after, elided_levels, elided_reload_refs, elided_notes,
    elided_stub_digests, elided_reasons, metadata,
    greatest(JSONExtractInt(metadata, 'part'), 1) AS part, greatest(JSONExtractInt(metadata, 'parts'), 1) AS parts
FROM replacements FINAL
WHERE record_kind = 'elision' AND (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
SETTINGS do_not_merge_across_partitions_select_final = 1;
