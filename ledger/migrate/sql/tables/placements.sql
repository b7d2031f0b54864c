-- One row an assembly, an injection or a removal. The arrays run over the blocks of the
-- assembly.
--
-- Every fact repeats the identity and the correlation ids of its event, so that no join
-- is needed to follow an id. Arrays in one row run in parallel. NULL is unknown, which is
-- not zero.
CREATE TABLE IF NOT EXISTS placements
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
    record_kind LowCardinality(String),
    record_id String,
    call_id String,
    assembly_id String,
    target LowCardinality(String),
    injection_point LowCardinality(String),
    injection_kind LowCardinality(String),
    attached_to String,
    ephemeral Bool,
    persona_from String,
    persona_to String,
    cue_item_ref String,
    replaced_by String,
    removed_by_pass String,
    item_refs Array(String),
    tokens Nullable(Int64),
    digest String,
    redaction_state LowCardinality(String),
    budget_ref String,
    blocks Array(String),
    block_items Array(Array(String)),
    block_positions Array(Nullable(Int64)),
    block_layers Array(LowCardinality(String)),
    block_roles Array(LowCardinality(String)),
    block_wrappers Array(LowCardinality(String)),
    block_tokens Array(Nullable(Int64)),
    block_digests Array(String),
    block_redactions Array(LowCardinality(String)),
    metadata String,
    correlation_hash UInt64 MATERIALIZED
        cityHash64(
            incarnation, stream_seq, tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id,
            run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id
        ) CODEC(NONE),
    -- JSON of what few have: binding_id of an injection; wrapping_policy and separator_policy of an assembly.
    extra String,
    base_assembly_id String,
    keep Nullable(Int64),
    block_equalities Array(String),
    fidelity LowCardinality(String),
    coverage LowCardinality(String),
    coverage_reasons Array(LowCardinality(String)),
    INDEX by_turn turn_id TYPE bloom_filter GRANULARITY 1,
    INDEX by_call call_id TYPE bloom_filter GRANULARITY 1,
    INDEX by_base base_assembly_id TYPE minmax GRANULARITY 1,
    INDEX by_session_id session_id TYPE bloom_filter(0.0001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(recorded_at)
ORDER BY (tenant, session_id, incarnation, stream_seq)
SETTINGS
    non_replicated_deduplication_window = 10000,
    default_compression_codec = 'LZ4',
    min_bytes_for_wide_part = 134217728,
    merge_selector_base = 16,
    string_serialization_version = 'single_stream',
    write_marks_for_substreams_in_compact_parts = 0,
    ratio_of_defaults_for_sparse_serialization = 1,
    auto_statistics_types = '';
