-- One row an injection, or its removal.
--
-- Needs: placements.
--
--   HEAD
--   thread_order     Int64                   sequence
--   change           String                  text
--   injection_id     String                  id
--   call_id          String                  id
--   assembly_id      String                  id
--   target           LowCardinality(String)  text
--   injection_point  LowCardinality(String)  text
--   injection_kind   LowCardinality(String)  text
--   attached_to      String                  id
--   ephemeral        Bool                    bool
--   persona_from     String                  text
--   persona_to       String                  text
--   cue_item_ref     String                  id
--   replaced_by      String                  id
--   removed_by_pass  String                  id
--   item_refs        Array(String)           id
--   tokens           Nullable(Int64)         tokens
--   digest           String                  text  keyed digest of what was injected
--   redaction_state  LowCardinality(String)  text
--   binding_id       String                  id
--   metadata         String                  JSON
CREATE OR REPLACE VIEW injections AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, if(record_kind = 'removal', 'removed', 'applied') AS change,
    record_id AS injection_id, call_id, assembly_id, target, injection_point, injection_kind, attached_to, ephemeral,
    persona_from, persona_to, cue_item_ref, replaced_by, removed_by_pass, item_refs, tokens, digest, redaction_state,
    JSONExtractString(extra, 'binding_id') AS binding_id, metadata
FROM placements FINAL
WHERE record_kind IN ('injection', 'removal')
SETTINGS do_not_merge_across_partitions_select_final = 1;
