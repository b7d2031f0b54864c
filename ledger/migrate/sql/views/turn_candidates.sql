-- One row a candidate that a selection decided.
--
-- A filter on tenant and session_id reaches the tables below: give both where they are
-- known.
--
-- Needs: selections.
--
--   HEAD
--   thread_order  Int64                                 sequence
--   selection_id  String                                id
--   surface_id    String                                id
--   call_id       String                                id
--   policy        LowCardinality(String)                text
--   query         String                                text
--   intent        String                                text
--   model         LowCardinality(String)                text
--   part          Nullable(Int64)                       count
--       part of the selection that the candidate stands in; NULL for a whole
--   item_ref      String                                id
--   outcome       LowCardinality(String)                text
--   rank          Nullable(Int64)                       count
--   score         Nullable(Float64)                     score
--   tokens        Nullable(Int64)                       tokens
--   reason        LowCardinality(String)                text
--   note          String                                text
--   signals       Map(LowCardinality(String), Float64)  score
CREATE OR REPLACE VIEW turn_candidates AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    thread_order, selection_id, surface_id, call_id, policy, query, intent, model, part,
    item_ref, outcome, rank, score, tokens, reason, note, signals
FROM selections
ARRAY JOIN item_refs AS item_ref, outcomes AS outcome, ranks AS rank, scores AS score, tokens, reasons AS reason,
    notes AS note, signals
WHERE change = 'completed';
