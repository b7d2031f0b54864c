-- One row a selection event; a split selection has one a part.
--
-- Needs: decisions.
--
--   HEAD
--   thread_order    Int64                                        sequence
--   change          LowCardinality(String)                       text
--   selection_id    String                                       id
--   surface_id      String                                       id
--   call_id         String                                       id
--   query           String                                       text
--   intent          String                                       text
--   policy          LowCardinality(String)                       text
--   rationale       String                                       text
--   actor           String                                       id
--   model           LowCardinality(String)                       text
--   budget_ref      String                                       id
--   part            Nullable(Int64)                              count
--       place among the parts of the selection, 1 is first; NULL for a whole
--   parts           Nullable(Int64)                              count   how many parts there are; NULL for a whole
--   candidate_refs  Array(String)                                id
--   item_refs       Array(String)                                id
--   outcomes        Array(LowCardinality(String))                text
--   ranks           Array(Nullable(Int64))                       count
--   scores          Array(Nullable(Float64))                     score
--   tokens          Array(Nullable(Int64))                       tokens
--       sizes of the decided candidates, in parallel with item_refs
--   reasons         Array(LowCardinality(String))                text
--   notes           Array(String)                                text
--   signals         Array(Map(LowCardinality(String), Float64))  score
--   metadata        String                                       JSON
CREATE OR REPLACE VIEW selections AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, substring(record_kind, 11) AS change,
    record_id AS selection_id, surface_id, call_id, query, intent, policy, rationale, actor, model, budget_ref, part,
    parts, candidate_refs, item_refs, outcomes, ranks, scores, tokens, reasons, notes, signals, metadata
FROM decisions FINAL
WHERE record_kind IN ('selection_started', 'selection_completed')
SETTINGS do_not_merge_across_partitions_select_final = 1;
