-- One row a version of a surface, which is what was available.
--
-- A fact that one event cannot hold comes in parts under one record id. Single values are
-- in the first part; lists continue from part to part. Rows with part = 1 count facts.
--
-- Needs: decisions.
--
--   HEAD
--   thread_order           Int64                           sequence
--   change                 LowCardinality(String)          text
--   surface_id             String                          id
--   surface_kind           LowCardinality(String)          text
--   available_refs         Array(String)                   id
--   available_source_refs  Array(String)                   id
--   capability_refs        Array(String)                   id
--   visibility             Array(String)                   text
--   expires_at             Nullable(DateTime64(9, 'UTC'))  time
--   metadata               String                          JSON
--   part                   Int64                           count
--   parts                  Int64                           count
CREATE OR REPLACE VIEW surfaces AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, substring(record_kind, 9) AS change,
    surface_id, surface_kind, candidate_refs AS available_refs,
    JSONExtract(extra, 'available_source_refs', 'Array(String)') AS available_source_refs,
    JSONExtract(extra, 'capability_refs', 'Array(String)') AS capability_refs,
    JSONExtract(extra, 'visibility', 'Array(String)') AS visibility,
    parseDateTime64BestEffortOrNull(JSONExtractString(extra, 'expires_at'), 9, 'UTC') AS expires_at, metadata,
    greatest(JSONExtractInt(metadata, 'part'), 1) AS part, greatest(JSONExtractInt(metadata, 'parts'), 1) AS parts
FROM decisions FINAL
WHERE record_kind IN ('surface_created', 'surface_updated')
SETTINGS do_not_merge_across_partitions_select_final = 1;
