-- One row a redaction that the operator took back. From the revocation's place on, the
-- redaction withholds nothing.
--
-- Needs: events.
--
--   incarnation   UUID                    id
--   stream_seq    UInt64                  sequence
--   recorded_at   DateTime64(9, 'UTC')    time
--   event_time    DateTime64(9, 'UTC')    time
--   event_id      String                  id
--   tenant        LowCardinality(String)  id
--   session_id    String                  id
--   redaction_id  String                  id
--   reason        String                  text
--   policy_refs   Array(String)           id
--   actor         String                  id
CREATE OR REPLACE VIEW revocations AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, tenant, session_id, subject AS redaction_id,
    JSONExtractString(data, 'reason') AS reason, JSONExtract(data, 'policy_refs', 'Array(String)') AS policy_refs,
    JSONExtractString(data, 'actor_ref') AS actor
FROM events FINAL
WHERE event_type = 'context.redaction.revoked'
SETTINGS do_not_merge_across_partitions_select_final = 1;
