-- One row a step of a compaction.
--
-- A step that was recorded twice, because its log grew by the summary, is the version
-- with a summary.
--
-- Needs: replacements, retold.
--
--   HEAD
--   thread_order        Int64                          sequence
--   change              LowCardinality(String)         text
--   compaction_id       String                         id
--   call_id             String                         id
--   scope               LowCardinality(String)         text
--   source_item_refs    Array(String)                  id
--   source_thread_id    String                         id
--   first_item_ref      String                         id
--   last_item_ref       String                         id
--   first_position      Nullable(Int64)                position
--   last_position       Nullable(Int64)                position
--   item_count          Nullable(Int64)                count
--   source_tokens       Nullable(Int64)                tokens
--   summary_ref         String                         id
--   method              LowCardinality(String)         text
--   trigger             LowCardinality(String)         text
--   coverage            String                         JSON
--   loss_notes          Array(String)                  text
--   validation          String                         JSON
--   replacement_policy  LowCardinality(String)         text
--   reinjected_kinds    Array(LowCardinality(String))  text
--   reinjected_refs     Array(String)                  id
--   reinjected_tokens   Array(Nullable(Int64))         tokens
--   retained_tail_refs  Array(String)                  id
--   tokens_before       Nullable(Int64)                tokens
--   tokens_after        Nullable(Int64)                tokens
--   summarizer_call_id  String                         id
--   goal_refs           Array(String)                  id
--   reason              String                         text
--   metadata            String                         JSON
CREATE OR REPLACE VIEW compactions AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, change, record_id AS compaction_id, call_id, scope,
    source_item_refs, if(source_thread_id = '', thread_id, source_thread_id) AS source_thread_id, first_item_ref,
    last_item_ref, first_position, last_position, item_count, source_tokens, summary_ref, method, trigger, coverage,
    loss_notes, validation, replacement_policy, reinjected_kinds, reinjected_refs, reinjected_tokens,
    retained_tail_refs, tokens_before, tokens_after, summarizer_call_id, goal_refs, reason, metadata
FROM
(
    SELECT
        *,
        row_number() OVER (
            PARTITION BY tenant, session_id, attempt_id, record_id, change
            ORDER BY summary_ref = '', recorded_at, stream_seq) AS version
    FROM replacements FINAL
    WHERE record_kind = 'compaction'
        AND (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
)
WHERE version = 1
SETTINGS do_not_merge_across_partitions_select_final = 1;
