-- Two views that read everything, made to read less.

-- check_sequence_gaps: one row a stretch of sequences of which nothing is known. What is
-- recorded comes as stretches, so that one look at events is enough, and every part
-- has its tenant and session as columns, so that a filter on these reaches the tables.
CREATE OR REPLACE VIEW check_sequence_gaps AS
WITH
recorded AS
(
    SELECT toString(tenant) AS tenant, toString(source) AS source, session_id,
        arrayJoin(arrayZip(arrayFilter((n, p) -> n != p + 1, numbers, arrayPushFront(arrayPopBack(numbers), numbers[1])),
            arrayFilter((n, p) -> n + 1 != p, numbers, arrayPushBack(arrayPopFront(numbers), numbers[-1])))) AS stretch
    FROM
    (
        SELECT tenant, source, session_id, arraySort(bitmapToArray(groupBitmapState(toUInt64(assumeNotNull(sequence))))) AS numbers
        FROM events WHERE sequence >= 0
        GROUP BY tenant, session_id, source
    )
),
declared AS
(
    SELECT tenant, arrayJoin(if(event_type = 'context.facts.dropped',
        arrayFlatten(arrayMap(d -> arrayMap(r -> (d.1, session_id, toUInt64(greatest(r[1], 0)), toUInt64(greatest(r[2], 0))), arrayFilter(r -> length(r) = 2, d.2)),
            JSONExtract(data, 'sequences', 'Array(Tuple(source String, ranges Array(Array(Int64))))'))),
        arrayMap(r -> (r.1, r.2, toUInt64(assumeNotNull(r.3)), toUInt64(assumeNotNull(r.3))), arrayFilter(r -> ifNull(r.3, -1) >= 0,
            JSONExtract(data, 'records', 'Array(Tuple(source String, session_id String, source_sequence Nullable(Int64)))'))))) AS d
    FROM (SELECT toString(tenant) AS tenant, session_id, event_type, data FROM events PREWHERE event_type IN ('context.facts.dropped', 'context.erasure.applied'))
),
refused AS
(
    SELECT
        if(binary, JSONExtractString(header, 'ce-tenant', 1), JSONExtractString(data, 'tenant')) AS tenant, source,
        if(binary, JSONExtractString(header, 'ce-sessionid', 1), JSONExtractString(data, 'sessionid')) AS session_id,
        toUInt64OrZero(if(JSONHas(header, 'ce-id') AS binary, JSONExtractString(header, 'ce-sequence', 1), JSONExtractString(data, 'sequence'))) AS number
    FROM refused_events WHERE source != '' AND number > 0
),
used AS
(
    SELECT tenant, source, session_id, stretch.1 AS number, stretch.2 AS last FROM recorded
    UNION ALL
    SELECT tenant, source, session_id, number, number FROM refused
    UNION ALL
    SELECT tenant, d.1, d.2, d.3, d.4 FROM declared
),
stretches AS
(
    SELECT tenant, source, session_id, number AS first,
        max(last) OVER (PARTITION BY tenant, source, session_id ORDER BY number, last ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached,
        row_number() OVER (PARTITION BY tenant, source, session_id ORDER BY number, last) AS place
    FROM used
)
SELECT tenant, source, session_id, reached + 1 AS first_missing, first - 1 AS last_missing, toUInt64(first - reached - 1) AS missing,
    'facts of these sequences are neither recorded nor refused nor erased nor declared as dropped' AS problem
FROM stretches WHERE place > 1 AND first > reached + 1;

-- model_calls: as before, without FINAL: of a call one version counts, and so does one
-- of a row that is stored twice.
CREATE OR REPLACE VIEW model_calls AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, call_id, model,
    uncached_input, cache_read, cache_write_5m, cache_write_1h, cache_write, output, reasoning,
    if(cache_write IS NULL AND cache_write_5m IS NULL AND cache_write_1h IS NULL, NULL,
        ifNull(cache_write, 0) + ifNull(cache_write_5m, 0) + ifNull(cache_write_1h, 0)) AS cache_written,
    window_tokens, window_tokens - cache_read AS recomputed_billed, estimated_tokens,
    if(lineage_id = '', thread_id, lineage_id) AS lineage_id, assembly_id, system_digest, tools_digest,
    gap_seconds, cache_lifetime_seconds, cost, currency, price_ref, stop_reason, window_first, window_next,
    provider_usage, JSONExtractBool(metadata, 'synthetic') AS synthetic, metadata
FROM
(
    SELECT *, row_number() OVER (PARTITION BY tenant, session_id, call_id ORDER BY output DESC NULLS LAST, recorded_at, stream_seq) AS version
    FROM calls
)
WHERE version = 1;
