-- One row an event: every attribute, the data as it came, and the digest.
--
-- Rows of the tables of facts are keyed by (incarnation, stream_seq): a row that comes
-- twice collapses. Partitions are months of recorded_at; a batch never spans two. Ids are
-- strings because runtimes choose them; an empty id means that the event had none.
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
    data String CODEC(ZSTD(1)),
    digest FixedString(32) CODEC(NONE),
    identity UInt64 CODEC(NONE),
    -- Of the row's correlation ids and its place in the stream; the checks compare it.
    correlation_hash UInt64 MATERIALIZED
        cityHash64(
            incarnation, stream_seq, tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id,
            run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id
        ) CODEC(NONE),
    -- The data of the few facts that declare sequences as dropped or erased.
    declaration String MATERIALIZED if((event_type IN ('context.facts.dropped', 'context.erasure.applied')), data, ''),
    salt FixedString(16) CODEC(NONE),
    type_attribute LowCardinality(String),
    -- The event itself had no tenant: its record, and so its leaf, has none.
    tenant_absent Bool,
    INDEX by_turn turn_id TYPE bloom_filter GRANULARITY 1,
    INDEX by_seq stream_seq TYPE minmax GRANULARITY 1,
    INDEX by_type event_type TYPE set(64) GRANULARITY 1,
    INDEX by_session_id session_id TYPE bloom_filter(0.0001) GRANULARITY 1,
    -- Which sessions and ids are there, and what is their newest time? The list of sessions and the search
    -- read these rows instead of all events. An event that is stored twice changes no maximum, so the
    -- answer is exact without FINAL. Each part has its own rows: an insert stores both or none.
    PROJECTION ids
    (
        SELECT
            tenant, session_id, source, agent, thread_id, turn_id, run_id, task_id, attempt_id,
            max(event_time), max(recorded_at)
        GROUP BY tenant, session_id, source, agent, thread_id, turn_id, run_id, task_id, attempt_id
    )
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
    auto_statistics_types = '',
    -- Merges that collapse rows, and deletions, compute the projection again from the rows that stay.
    deduplicate_merge_projection_mode = 'rebuild',
    lightweight_mutation_projection_mode = 'rebuild';
