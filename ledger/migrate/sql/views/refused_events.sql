-- One row a message that was refused.
--
-- Needs: quarantine.
--
--   incarnation     UUID                           id
--   stream_seq      UInt64                         sequence
--   recorded_at     DateTime64(9, 'UTC')           time
--   tenant          LowCardinality(String)         id
--   source          String                         id
--   event_id        String                         id
--   stream_subject  String                         text
--   header          String                         JSON
--   data            String                         bytes  the message as it came, withheld values masked
--   code            LowCardinality(String)         text
--   pointer         String                         text
--   reason          String                         text
--   codes           Array(LowCardinality(String))  text
CREATE OR REPLACE VIEW refused_events AS
SELECT *
FROM quarantine FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;
