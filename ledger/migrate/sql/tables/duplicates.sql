-- One row an event whose identity (source, id) was in the ledger already.
CREATE TABLE IF NOT EXISTS duplicates
(
    incarnation UUID,
    stream_seq UInt64,
    recorded_at DateTime64(9, 'UTC'),
    tenant LowCardinality(String),
    session_id String,
    source String,
    event_id String,
    first_incarnation UUID,
    first_seq UInt64
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(recorded_at)
ORDER BY (tenant, session_id, incarnation, stream_seq)
SETTINGS
    non_replicated_deduplication_window = 10000,
    default_compression_codec = 'ZSTD(1)',
    min_bytes_for_wide_part = 134217728,
    merge_selector_base = 16,
    string_serialization_version = 'single_stream',
    write_marks_for_substreams_in_compact_parts = 0,
    ratio_of_defaults_for_sparse_serialization = 1,
    auto_statistics_types = '';
