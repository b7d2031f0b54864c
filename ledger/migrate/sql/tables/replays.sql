-- One row a message that replays a refused one. `ctxledger quarantine replay` names the
-- refused message in a header.
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
SETTINGS
    non_replicated_deduplication_window = 10000,
    min_bytes_for_wide_part = 134217728,
    merge_selector_base = 16,
    string_serialization_version = 'single_stream',
    write_marks_for_substreams_in_compact_parts = 0,
    ratio_of_defaults_for_sparse_serialization = 1,
    auto_statistics_types = '';
