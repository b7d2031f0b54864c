-- One row an event whose identity, source and id, was there already.
--
-- Needs: duplicates.
--
--   incarnation        UUID                    id
--   stream_seq         UInt64                  sequence
--   recorded_at        DateTime64(9, 'UTC')    time
--   tenant             LowCardinality(String)  id
--   session_id         String                  id
--   source             String                  id
--   event_id           String                  id
--   first_incarnation  UUID                    id
--   first_seq          UInt64                  sequence
CREATE OR REPLACE VIEW repeated_events AS
SELECT *
FROM duplicates FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;
