-- One row an event that a re-check found: it holds a value that a redaction withholds,
-- and was recorded before that redaction. A row names the place, the record and the
-- policy. It never holds the value, and a name that would is masked.
CREATE TABLE IF NOT EXISTS reintroductions
(
    incarnation UUID,
    stream_seq UInt64,
    recorded_at DateTime64(9, 'UTC'),
    tenant LowCardinality(String),
    session_id String,
    turn_id String,
    event_type LowCardinality(String),
    record_id String,
    redaction_id String,
    policy_ref String
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(recorded_at)
ORDER BY (tenant, session_id, incarnation, stream_seq, policy_ref)
SETTINGS
    default_compression_codec = 'ZSTD(1)',
    auto_statistics_types = '';
