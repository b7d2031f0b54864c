-- One row a message that replays a refused one.
--
-- Needs: duplicates, quarantine, replays.
--
--   incarnation     UUID                    id
--   stream_seq      UInt64                  sequence
--   recorded_at     DateTime64(9, 'UTC')    time
--   tenant          LowCardinality(String)  id
--   of_incarnation  UUID                    id
--   of_seq          UInt64                  sequence
--   outcome         String                  text  recorded, repeated (its event was there already) or refused
CREATE OR REPLACE VIEW quarantine_replays AS
SELECT
    incarnation, stream_seq, recorded_at, tenant, of_incarnation, of_seq,
    multiIf(
        (incarnation, stream_seq) IN
        (
            SELECT incarnation, stream_seq
            FROM quarantine
            WHERE stream_seq IN (SELECT stream_seq FROM replays)
        ),
        'refused',
        (incarnation, stream_seq) IN
        (
            SELECT incarnation, stream_seq
            FROM duplicates
            WHERE stream_seq IN (SELECT stream_seq FROM replays)
        ),
        'repeated',
        'recorded') AS outcome
FROM replays FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;
