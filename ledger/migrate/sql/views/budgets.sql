-- One row a budget that was applied to a window.
--
-- A fact that one event cannot hold comes in parts under one record id. Single values are
-- in the first part; lists continue from part to part. Rows with part = 1 count facts.
--
-- Needs: windows.
--
--   HEAD
--   thread_order          Int64                          sequence
--   budget_id             String                         id
--   call_id               String                         id
--   model                 LowCardinality(String)         text
--   estimator             LowCardinality(String)         text
--   target                LowCardinality(String)         text
--   max_tokens            Nullable(Int64)                tokens
--   max_bytes             Nullable(Int64)                bytes
--   max_items             Nullable(Int64)                count
--   reserved_tokens       Nullable(Int64)                tokens
--   estimated_tokens      Nullable(Int64)                tokens  the prompt before the budget was applied
--   actual_tokens         Nullable(Int64)                tokens
--   actual_bytes          Nullable(Int64)                bytes
--   actual_items          Nullable(Int64)                count
--   overflow_strategy     LowCardinality(String)         text
--   headroom_tokens       Nullable(Int64)                tokens
--   segments              Array(LowCardinality(String))  text
--   segment_roles         Array(LowCardinality(String))  text
--   segment_layers        Array(LowCardinality(String))  text
--   segment_tokens        Array(Nullable(Int64))         tokens
--   segment_items         Array(Nullable(Int64))         count
--   segment_reserved      Array(Nullable(Int64))         tokens
--   truncated_refs        Array(String)                  id
--   truncated_before      Array(Nullable(Int64))         tokens
--   truncated_after       Array(Nullable(Int64))         tokens
--   truncated_strategies  Array(LowCardinality(String))  text
--   pressure_policy       String                         JSON
--   metadata              String                         JSON
--   part                  Int64                          count
--   parts                 Int64                          count
CREATE OR REPLACE VIEW budgets AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, record_id AS budget_id, call_id, model, estimator, target,
    max_tokens, max_bytes, max_items, reserved_tokens, estimated_tokens, actual_tokens, actual_bytes, actual_items,
    overflow_strategy,
    max_tokens - ifNull(reserved_tokens, 0) - coalesce(actual_tokens, estimated_tokens) AS headroom_tokens,
    segments, segment_roles, segment_layers, segment_tokens, segment_items, segment_reserved,
    truncated_refs, truncated_before, truncated_after, truncated_strategies, pressure_policy, metadata,
    greatest(JSONExtractInt(metadata, 'part'), 1) AS part, greatest(JSONExtractInt(metadata, 'parts'), 1) AS parts
FROM windows FINAL
WHERE record_kind = 'budget'
SETTINGS do_not_merge_across_partitions_select_final = 1;
