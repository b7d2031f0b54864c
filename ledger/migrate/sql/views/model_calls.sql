-- One row a model call, as the provider billed it; of a call recorded twice the version
-- that is known best, and of these the one with the most output.
--
-- Records with one provider_message_id are of one call. The id of a call counts as that
-- of its message where a record has none. Fidelity goes from wire to reconstructed.
--
-- The log of Claude Code can end a call's records before the end of the answer. Such a record has no stop
-- reason, and its output is a placeholder from the beginning of the stream.
--
-- The view reads without FINAL: one version of a call counts, so a row that is stored
-- twice makes no difference.
--
-- Needs: calls, retold.
--
--   HEAD
--   thread_order            Int64                   sequence
--   call_id                 String                  id
--   model                   LowCardinality(String)  text
--   uncached_input          Nullable(Int64)         tokens
--   cache_read              Nullable(Int64)         tokens
--   cache_write_5m          Nullable(Int64)         tokens
--   cache_write_1h          Nullable(Int64)         tokens
--   cache_write             Nullable(Int64)         tokens
--   output                  Nullable(Int64)         tokens
--   reasoning               Nullable(Int64)         tokens
--   cache_written           Nullable(Int64)         tokens
--   window_tokens           Nullable(Int64)         tokens
--   recomputed_billed       Nullable(Int64)         tokens
--   estimated_tokens        Nullable(Int64)         tokens
--   lineage_id              String                  id
--   assembly_id             String                  id
--   system_digest           String                  text
--   tools_digest            String                  text
--   gap_seconds             Nullable(Float64)       seconds
--   cache_lifetime_seconds  Nullable(Int64)         seconds
--   cost                    Nullable(Float64)       currency
--   currency                LowCardinality(String)  text
--   price_ref               String                  id
--   stop_reason             LowCardinality(String)  text
--   window_first            Nullable(Int64)         position
--   window_next             Nullable(Int64)         position
--   provider_usage          String                  JSON
--   synthetic               UInt8                   flag
--   metadata                String                  JSON
--   tags                    Array(String)           text
--   answered_model          String                  text
--   provider_message_id     String                  id
--   fidelity                String                  text
--   coverage                LowCardinality(String)  text
--   coverage_reasons        Array(LowCardinality(String))  text
--   cache_miss_reason       String                  text
--   partial_buckets         Array(String)           text
CREATE OR REPLACE VIEW model_calls AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, call_id, model,
    uncached_input, cache_read, cache_write_5m, cache_write_1h, cache_write, output, reasoning,
    if(
        cache_write IS NULL AND cache_write_5m IS NULL AND cache_write_1h IS NULL, NULL,
        ifNull(cache_write, 0) + ifNull(cache_write_5m, 0) + ifNull(cache_write_1h, 0)) AS cache_written,
    window_tokens, window_tokens - cache_read AS recomputed_billed, estimated_tokens,
    if(lineage_id = '', thread_id, lineage_id) AS lineage_id, assembly_id, system_digest, tools_digest,
    gap_seconds, cache_lifetime_seconds, cost, currency, price_ref, stop_reason, window_first, window_next,
    provider_usage, JSONExtractBool(metadata, 'synthetic') AS synthetic, metadata,
    tags, answered_model, provider_message_id,
    multiIf(
        fidelity != '', toString(fidelity), startsWith(source, 'urn:ctxledger:import:'), 'reconstructed', 'stated'
    ) AS fidelity,
    coverage, coverage_reasons, JSONExtractString(metadata, 'cache_miss_reason') AS cache_miss_reason,
    if(
        stop_reason = '' AND output IS NOT NULL AND NOT synthetic
            AND startsWith(source, 'urn:ctxledger:import:claude-code:'),
        ['output'], []) AS partial_buckets
FROM
(
    SELECT
        *,
        row_number() OVER (
            PARTITION BY tenant, session_id, attempt_id, if(provider_message_id = '', call_id, provider_message_id)
            ORDER BY
                multiIf(
                    fidelity = 'wire', 1, fidelity = 'serialized', 2, fidelity = 'stated', 3, fidelity = 'reported', 4,
                    fidelity = 'reconstructed' OR startsWith(source, 'urn:ctxledger:import:'), 5, fidelity = '', 3, 6),
                (tenant, session_id, source) IN (SELECT tenant, session_id, source FROM retold), output DESC NULLS LAST,
                recorded_at, stream_seq) AS version
    FROM calls
    WHERE (tenant, session_id, concat(toString(source), '#', call_id)) NOT IN (
        SELECT tenant, session_id, source FROM retold)
)
WHERE version = 1;
