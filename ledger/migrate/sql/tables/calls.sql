-- One row a model call, as the provider billed it. The token buckets are disjoint.
--
-- Every fact repeats the identity and the correlation ids of its event, so that no join
-- is needed to follow an id. Arrays in one row run in parallel. NULL is unknown, which is
-- not zero.
CREATE TABLE IF NOT EXISTS calls
(
    incarnation UUID,
    stream_seq UInt64 CODEC(Delta, ZSTD(1)),
    recorded_at DateTime64(9, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
    event_time DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    event_id String,
    source LowCardinality(String),
    event_type LowCardinality(String),
    sequence Nullable(Int64),
    tenant LowCardinality(String),
    agent LowCardinality(String),
    resource_id String,
    runtime_id LowCardinality(String),
    session_id String,
    thread_id String,
    turn_id String,
    task_id String,
    run_id String,
    attempt_id String,
    step_id String,
    tool_call_id String,
    action_id String,
    evidence_id String,
    context_id String,
    parent_run_id String,
    root_run_id String,
    call_id String,
    model LowCardinality(String),
    uncached_input Nullable(Int64),
    cache_read Nullable(Int64),
    cache_write_5m Nullable(Int64),
    cache_write_1h Nullable(Int64),
    cache_write Nullable(Int64),
    output Nullable(Int64),
    reasoning Nullable(Int64),
    window_tokens Nullable(Int64),
    estimated_tokens Nullable(Int64),
    lineage_id String,
    assembly_id String,
    system_digest String,
    tools_digest String,
    gap_seconds Nullable(Float64),
    cache_lifetime_seconds Nullable(Int64),
    cost Nullable(Float64),
    currency LowCardinality(String),
    price_ref String,
    stop_reason LowCardinality(String),
    window_first Nullable(Int64),
    window_next Nullable(Int64),
    provider_usage String,
    metadata String,
    correlation_hash UInt64 MATERIALIZED
        cityHash64(
            incarnation, stream_seq, tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id,
            run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id
        ) CODEC(NONE),
    tags Array(String),
    answered_model String,
    provider_message_id String,
    fidelity LowCardinality(String),
    coverage LowCardinality(String),
    coverage_reasons Array(LowCardinality(String)),
    INDEX by_turn turn_id TYPE bloom_filter GRANULARITY 1,
    INDEX by_call call_id TYPE bloom_filter GRANULARITY 1,
    INDEX by_session_id session_id TYPE bloom_filter(0.0001) GRANULARITY 1,
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
