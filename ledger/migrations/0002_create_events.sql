-- The tables of the ledger. Rows are keyed by (incarnation, stream_seq): a row
-- that comes twice collapses, and the views read with FINAL. Partitions are
-- months of recorded_at; a batch never spans two. Ids are strings because
-- runtimes choose them; an empty id means that the event had none.

-- One row an event: every attribute, the data as it came, and the digest.
CREATE TABLE IF NOT EXISTS events
(
    incarnation UUID,
    stream_seq UInt64 CODEC(Delta, ZSTD(1)),
    recorded_at DateTime64(9, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
    event_time DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    event_id String,
    source LowCardinality(String),
    event_type LowCardinality(String),
    sequence Nullable(Int64),
    tenant LowCardinality(String), agent LowCardinality(String), resource_id String, runtime_id LowCardinality(String),
    session_id String, thread_id String, turn_id String, task_id String,
    run_id String, attempt_id String, step_id String, tool_call_id String,
    action_id String, evidence_id String, context_id String, parent_run_id String,
    root_run_id String,
    subject String,
    data_content_type LowCardinality(String),
    data_schema LowCardinality(String),
    partition_key String,
    correlation_id String,
    causation_id String,
    recorded_time Nullable(DateTime64(9, 'UTC')),
    traceparent String,
    tracestate String,
    data_classification LowCardinality(String),
    extensions Map(LowCardinality(String), String),
    data String CODEC(ZSTD(3)),
    digest FixedString(32) CODEC(NONE),
    identity UInt64 CODEC(NONE),
    INDEX by_turn turn_id TYPE bloom_filter GRANULARITY 1,
    INDEX by_seq stream_seq TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(recorded_at)
ORDER BY (tenant, session_id, incarnation, stream_seq)
SETTINGS non_replicated_deduplication_window = 10000, default_compression_codec = 'ZSTD(1)';

-- What was refused, with its exact bytes.
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
SETTINGS non_replicated_deduplication_window = 10000, default_compression_codec = 'ZSTD(1)';

-- Events whose identity (source, id) was in the ledger already.
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
SETTINGS non_replicated_deduplication_window = 10000, default_compression_codec = 'ZSTD(1)';

-- The only checkpoint: one row a committed range of a stream, inserted last.
CREATE TABLE IF NOT EXISTS commits
(
    incarnation UUID,
    first_seq UInt64,
    last_seq UInt64,
    messages UInt64,
    digest FixedString(32),
    rows Map(LowCardinality(String), UInt64),
    epoch UInt64,
    projection_version UInt32,
    recorded_at DateTime64(9, 'UTC')
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(recorded_at)
ORDER BY (incarnation, first_seq, last_seq)
SETTINGS non_replicated_deduplication_window = 10000;

-- Signed heads of the transparency log.
CREATE TABLE IF NOT EXISTS checkpoints
(
    incarnation UUID,
    tree_size UInt64,
    root_hash FixedString(32),
    note String,
    recorded_at DateTime64(9, 'UTC')
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(recorded_at)
ORDER BY (incarnation, tree_size)
SETTINGS non_replicated_deduplication_window = 10000;
