-- Messages that replay a refused one: `ctxledger quarantine replay` names the
-- refused message in a header, and what became of the replay is decided like that
-- of any other message.
CREATE TABLE IF NOT EXISTS replays
(
    incarnation UUID,
    stream_seq UInt64,
    recorded_at DateTime64(9, 'UTC'),
    tenant LowCardinality(String),
    of_incarnation UUID,
    of_seq UInt64
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(recorded_at)
ORDER BY (of_incarnation, of_seq, incarnation, stream_seq)
SETTINGS non_replicated_deduplication_window = 10000;

-- quarantine_replays: one row a message that replays a refused one.
--   incarnation, stream_seq, recorded_at, tenant: of the replay
--   of_incarnation, of_seq: where the refused message stands
--   outcome: recorded, repeated (its event was there already) or refused
CREATE OR REPLACE VIEW quarantine_replays AS
SELECT incarnation, stream_seq, recorded_at, tenant, of_incarnation, of_seq,
    multiIf(
        (incarnation, stream_seq) IN (SELECT incarnation, stream_seq FROM quarantine WHERE stream_seq IN (SELECT stream_seq FROM replays)), 'refused',
        (incarnation, stream_seq) IN (SELECT incarnation, stream_seq FROM duplicates WHERE stream_seq IN (SELECT stream_seq FROM replays)), 'repeated',
        'recorded') AS outcome
FROM replays FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;
