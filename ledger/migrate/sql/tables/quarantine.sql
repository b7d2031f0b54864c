-- One row a message that was refused, with its exact bytes.
CREATE TABLE IF NOT EXISTS quarantine
(
    incarnation UUID,
    stream_seq UInt64,
    recorded_at DateTime64(9, 'UTC'),
    tenant LowCardinality(String),
    source String,
    event_id String,
    stream_subject String,
    header String,
    data String,
    code LowCardinality(String),
    pointer String,
    reason String,
    codes Array(LowCardinality(String))
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(recorded_at)
ORDER BY (tenant, code, incarnation, stream_seq)
SETTINGS
    non_replicated_deduplication_window = 10000,
    default_compression_codec = 'ZSTD(1)',
    min_bytes_for_wide_part = 134217728,
    merge_selector_base = 16,
    string_serialization_version = 'single_stream',
    write_marks_for_substreams_in_compact_parts = 0,
    ratio_of_defaults_for_sparse_serialization = 1,
    auto_statistics_types = '';
