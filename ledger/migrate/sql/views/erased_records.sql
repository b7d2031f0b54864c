-- One row a record that an erasure took, and the fact that says so.
--
-- The ids are those of the fact. Facts about one item have its session, and name it as
-- their subject.
--
-- Needs: events.
--
--   incarnation        UUID                    id
--   stream_seq         UInt64                  sequence
--   recorded_at        DateTime64(9, 'UTC')    time
--   event_time         DateTime64(9, 'UTC')    time
--   tenant             LowCardinality(String)  id
--   session_id         String                  id
--   erasure_id         String                  id
--   erased_subject     String                  text
--   reason             String                  text
--   policy_refs        Array(String)           id
--   erased_stream      String                  text
--   erased_seq         UInt64                  sequence
--   leaf               String                  text
--   erased_source      String                  id
--   erased_sequence    Nullable(Int64)         sequence
--   erased_session_id  String                  id
--   erased_run_id      String                  id
--   erased_turn_id     String                  id
--   erased_item_id     String                  id
CREATE OR REPLACE VIEW erased_records AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, tenant, session_id,
    JSONExtractString(data, 'erasure_id') AS erasure_id, JSONExtractString(data, 'erased_subject') AS erased_subject,
    JSONExtractString(data, 'reason') AS reason, JSONExtract(data, 'policy_refs', 'Array(String)') AS policy_refs,
    r.1 AS erased_stream, r.2 AS erased_seq, r.3 AS leaf, r.4 AS erased_source, r.5 AS erased_sequence,
    r.6 AS erased_session_id, r.7 AS erased_run_id, r.8 AS erased_turn_id, r.9 AS erased_item_id
FROM
(
    SELECT
        incarnation, stream_seq, recorded_at, event_time, tenant, session_id, data,
        arrayJoin(JSONExtract(data, 'records', 'Array(Tuple(
                stream String, sequence UInt64, leaf String, source String, source_sequence Nullable(Int64),
                session_id String, run_id String, turn_id String, item_id String))')) AS r
    FROM events FINAL
    PREWHERE event_type = 'context.erasure.applied'
)
SETTINGS do_not_merge_across_partitions_select_final = 1;
