-- One row a leaf of the transparency log, with the hashes of the nodes above that it
-- completes.
CREATE TABLE IF NOT EXISTS log_hashes
(
    incarnation UUID,
    log_index UInt64 CODEC(Delta, ZSTD(1)),
    stream_seq UInt64 CODEC(Delta, ZSTD(1)),
    recorded_at DateTime64(9, 'UTC'),
    hash FixedString(32) CODEC(NONE),
    above String,
    -- Whose leaf it is, also when the event was erased; '' before version 4 of the rules.
    tenant LowCardinality(String),
    INDEX by_seq stream_seq TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(recorded_at)
ORDER BY (incarnation, log_index)
SETTINGS
    non_replicated_deduplication_window = 10000,
    default_compression_codec = 'ZSTD(1)',
    min_bytes_for_wide_part = 134217728,
    merge_selector_base = 16,
    string_serialization_version = 'single_stream',
    write_marks_for_substreams_in_compact_parts = 0,
    ratio_of_defaults_for_sparse_serialization = 1,
    auto_statistics_types = '';
