-- The transparency log over the events of each stream; its formats are in package
-- proof. Events that were recorded before this have no salt and are not in it.
-- A record has the type as it came, with its version; event_type has its name alone,
-- and so have the events before this.
ALTER TABLE events
    ADD COLUMN IF NOT EXISTS salt FixedString(16) CODEC(NONE),
    ADD COLUMN IF NOT EXISTS type_attribute LowCardinality(String);

-- One row a leaf: of an event, or of one that was erased. above has the roots of
-- the tiles that the leaf completes, 32 bytes each: of level 8, 16, and so on.
-- recorded_at is the start of the month that the stream stored the event in: there
-- is no more to know of the time of one that was erased.
CREATE TABLE IF NOT EXISTS log_hashes
(
    incarnation UUID,
    log_index UInt64 CODEC(Delta, ZSTD(1)),
    stream_seq UInt64 CODEC(Delta, ZSTD(1)),
    recorded_at DateTime64(9, 'UTC'),
    hash FixedString(32) CODEC(NONE),
    above String,
    INDEX by_seq stream_seq TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(recorded_at)
ORDER BY (incarnation, log_index)
SETTINGS non_replicated_deduplication_window = 10000, default_compression_codec = 'ZSTD(1)',
    min_bytes_for_wide_part = 134217728, merge_selector_base = 10;

-- The log after each commit, from which the next goes on: its size, its root and the
-- hashes of its frontier. The root is zero where there was no log.
ALTER TABLE commits
    ADD COLUMN IF NOT EXISTS tree_size UInt64,
    ADD COLUMN IF NOT EXISTS tree_root FixedString(32),
    ADD COLUMN IF NOT EXISTS tree_frontier String;
