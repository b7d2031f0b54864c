-- One row a redaction. The withheld value is nowhere.
--
-- A fact that one event cannot hold comes in parts under one record id. Single values are
-- in the first part; lists continue from part to part. Rows with part = 1 count facts.
--
-- Needs: redactions.
--
--   HEAD
--   thread_order         Int64                          sequence
--   redaction_id         String                         id
--   call_id              String                         id
--   target_ref           String                         id
--   redaction_state      LowCardinality(String)         text
--   method               LowCardinality(String)         text
--   redacted_fields      Array(String)                  text
--   reason               String                         text
--   policy_refs          Array(String)                  id
--   actor                String                         id
--   replacement_ref      String                         id
--   fingerprint_keys     Array(LowCardinality(String))  id
--   fingerprint_lengths  Array(Int64)                   bytes
--   metadata             String                         JSON
--   part                 Int64                          count
--   parts                Int64                          count
CREATE OR REPLACE VIEW redaction_trail AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, record_id AS redaction_id, call_id, target_ref,
    redaction_state, method, redacted_fields, reason, policy_refs, actor, replacement_ref, fingerprint_keys,
    fingerprint_lengths, metadata,
    greatest(JSONExtractInt(metadata, 'part'), 1) AS part, greatest(JSONExtractInt(metadata, 'parts'), 1) AS parts
FROM redactions FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;
