-- cache_bill: one row a model call, as before, without FINAL. Of an assembly each part
-- counts once, of a call one version, and what elisions, compactions, rungs and
-- removals say is when they were: a row that is stored twice makes no difference.
--
-- A block without a digest is told by its items, which it keeps when it is cut to a
-- stub. So what both windows begin with ends where a size changes, too, as it does
-- for `ctxledger diff` and for the runtime that plans by it.
CREATE OR REPLACE VIEW cache_bill AS
WITH
marks AS
(
    SELECT tenant, session_id, thread_id, groupArrayIf(at, kind = 'compaction') AS compacted_at, groupArrayIf(at, kind = 'elision') AS elided_at,
        groupArrayIf(at, kind = 'pressure') AS pressed_at, groupArrayIf(at, kind = 'removal') AS moved_at
    FROM
    (
        SELECT tenant, session_id, if(record_kind = 'compaction' AND source_thread_id != '', source_thread_id, thread_id) AS thread_id,
            toString(record_kind) AS kind, ifNull(sequence, toInt64(stream_seq)) AS at
        FROM replacements WHERE record_kind = 'elision' OR record_kind = 'compaction' AND change = 'completed'
        UNION ALL
        SELECT tenant, session_id, thread_id, 'pressure', ifNull(sequence, toInt64(stream_seq)) FROM windows WHERE record_kind = 'pressure' AND outcome IN ('applied', 'insufficient')
        UNION ALL
        SELECT tenant, session_id, thread_id, 'removal', ifNull(sequence, toInt64(stream_seq)) FROM placements WHERE record_kind = 'removal'
    )
    GROUP BY tenant, session_id, thread_id
),
assembled AS
(
    SELECT tenant, session_id, call_id, if(length(parts) = 1, parts[1].4, arrayFlatten(parts.4)) AS keys, if(length(parts) = 1, parts[1].5, arrayFlatten(parts.5)) AS sizes,
        if(length(parts) = 1, parts[1].6, arrayFlatten(parts.6)) AS refs
    FROM
    (
        SELECT tenant, session_id, call_id, if(length(latest) = 1, latest, arraySort(p -> p.3, latest)) AS parts
        FROM
        (
            SELECT tenant, session_id, call_id,
                if(length(newest) = 1, newest, arrayFilter((p, i) -> p.2 = newest[1].2 AND i = arrayFirstIndex(o -> o.2 = p.2 AND o.3 = p.3, newest), newest, arrayEnumerate(newest))) AS latest
            FROM
            (
                SELECT tenant, session_id, call_id, if(length(found) = 1, found, arraySort(p -> (-p.1, p.3), found)) AS newest
                FROM
                (
                    SELECT tenant, session_id, call_id, groupArray((at, assembly_id, part, keys, sizes, refs)) AS found
                    FROM
                    (
                        SELECT tenant, session_id, call_id, assembly_id, at, part,
                            if(shuffled, arraySort((x, p) -> p, given_keys, places), given_keys) AS keys,
                            if(shuffled, arraySort((x, p) -> p, given_sizes, places), given_sizes) AS sizes,
                            if(shuffled, arraySort((x, p) -> p, given_refs, places), given_refs) AS refs
                        FROM
                        (
                            SELECT tenant, session_id, call_id, assembly_id, at, part, given_keys, given_sizes, given_refs, places,
                                arrayExists((p, n) -> p > n, arrayPopBack(places), arrayPopFront(places)) AS shuffled
                            FROM
                            (
                                SELECT tenant, session_id, call_id, assembly_id, ifNull(sequence, toInt64(stream_seq)) AS at, greatest(JSONExtractUInt(metadata, 'part'), 1) AS part,
                                    arrayMap((d, i, b) -> if(d != '', cityHash64(d), if(notEmpty(i), cityHash64(arrayStringConcat(i, ' ')), cityHash64(b))), block_digests, block_items, blocks) AS given_keys,
                                    arrayMap(i -> cityHash64(i[1]), block_items) AS given_refs, block_tokens AS given_sizes,
                                    arrayMap((p, n) -> (ifNull(p, 1000000000), n), block_positions, arrayEnumerate(blocks)) AS places
                                FROM placements WHERE record_kind = 'assembly' AND call_id != ''
                            )
                        )
                    )
                    GROUP BY tenant, session_id, call_id
                )
            )
        )
    )
),
pairs AS
(
    SELECT c.*, a.keys AS keys, a.sizes AS sizes, a.refs AS refs,
        row_number() OVER lineage AS number,
        lagInFrame(call_id) OVER lineage AS previous_call_id, lagInFrame(model) OVER lineage AS previous_model,
        lagInFrame(window_tokens) OVER lineage AS previous_window_tokens, lagInFrame(event_time) OVER lineage AS previous_time,
        lagInFrame(cache_read) OVER lineage AS previous_read, lagInFrame(cache_written) OVER lineage AS previous_written,
        lagInFrame(system_digest) OVER lineage AS previous_system, lagInFrame(tools_digest) OVER lineage AS previous_tools,
        lagInFrame(thread_order) OVER lineage AS previous_order,
        lagInFrame(keys) OVER lineage AS previous_keys, lagInFrame(sizes) OVER lineage AS previous_sizes, lagInFrame(refs) OVER lineage AS previous_refs,
        coalesce(cache_lifetime_seconds, multiIf(lagInFrame(cache_write_1h) OVER lineage > 0, 3600, lagInFrame(cache_write_5m) OVER lineage > 0, 300, NULL)) AS lifetime
    FROM (SELECT * FROM call_costs WHERE NOT synthetic) AS c
    LEFT JOIN (SELECT tenant, session_id, call_id, keys, sizes, refs FROM assembled) AS a ON c.tenant = a.tenant AND c.session_id = a.session_id AND c.call_id = a.call_id
    WINDOW lineage AS (PARTITION BY tenant, session_id, thread_id, lineage_id ORDER BY thread_order, stream_seq ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
),
compared AS
(
    SELECT *,
        notEmpty(keys) AND NOT has(sizes, NULL) AS sized,
        arrayFirstIndex(x -> x = 0, arrayPushBack(arrayMap((k, p, n, was) -> k = p AND ifNull(n = was, 1), keys, arrayResize(previous_keys, length(keys)),
            sizes, arrayResize(previous_sizes, length(keys))), 0)) - 1 AS common
    FROM pairs
),
rests AS
(
    SELECT *, sized AND (number = 1 OR notEmpty(previous_keys)) AS comparable,
        arraySlice(keys, common + 1) AS rest_keys, arraySlice(sizes, common + 1) AS rest_sizes, arraySlice(refs, common + 1) AS rest_refs
    FROM compared
),
prefixes AS
(
    SELECT *,
        arraySum(t -> ifNull(t, 0), sizes) AS whole, arraySum(t -> ifNull(t, 0), rest_sizes) AS rest,
        arraySum((k, t, i) -> if(has(previous_keys, k) OR i != cityHash64('') AND has(previous_refs, i), 0, ifNull(t, 0)), rest_keys, rest_sizes, rest_refs) AS fresh,
        if(number = 1, NULL, coalesce(gap_seconds, dateDiff('millisecond', previous_time, event_time) / 1000)) AS gap
    FROM rests
),
reusable AS
(
    SELECT *, if(number = 1 OR previous_read IS NULL AND previous_written IS NULL, NULL, ifNull(previous_read, 0) + ifNull(previous_written, 0)) AS reusable_tokens,
        if(comparable, rest - fresh, NULL) AS penalty_tokens
    FROM prefixes
),
lost AS (SELECT *, if(reusable_tokens < cache_read, 0, reusable_tokens - cache_read) AS lost_tokens FROM reusable),
billed AS (SELECT *, if(lost_tokens > recomputed_billed, recomputed_billed, lost_tokens + 0 * recomputed_billed) AS broken_billed FROM lost)
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    thread_order, lineage_id, call_id, model, number, previous_call_id, previous_model, gap AS gap_seconds, lifetime AS cache_lifetime_seconds,
    multiIf(
        number = 1, 'first',
        gap > lifetime, 'idle',
        model != previous_model, 'model_switch',
        system_digest != previous_system AND system_digest != '' AND previous_system != '', 'system_change',
        tools_digest != previous_tools AND tools_digest != '' AND previous_tools != '', 'tools_change',
        arrayExists(x -> x > previous_order AND x < thread_order, compacted_at), 'compaction',
        arrayExists(x -> x > previous_order AND x < thread_order, elided_at), 'elision',
        ifNull(penalty_tokens, 0) = 0, 'append',
        arrayExists(x -> x > previous_order AND x < thread_order, pressed_at), 'pressure',
        arrayExists(x -> x > previous_order AND x < thread_order, moved_at), 'injection',
        'rewrite') AS cause,
    window_tokens, if(number = 1, NULL, previous_window_tokens) AS previous_window_tokens, cache_read, cache_written, recomputed_billed, reusable_tokens, lost_tokens,
    broken_billed, recomputed_billed - broken_billed AS unbroken_billed,
    if(sized, whole, NULL) AS window_expected, if(comparable, whole - rest, NULL) AS prefix_tokens, if(comparable, rest, NULL) AS recomputed_expected,
    if(comparable, fresh, NULL) AS new_tokens, penalty_tokens,
    if(comparable AND NOT has(previous_sizes, NULL), arraySum(t -> ifNull(t, 0), previous_sizes) - (whole - rest), NULL) AS lost_expected,
    cost, currency, priced_cost, priced_currency, unpriced_buckets,
    if(broken_billed = 0, 0 * priced_cost, broken_billed * if(recomputed_price < cache_read_price, 0, recomputed_price - cache_read_price) / 1000000) AS break_cost,
    priced_cost - break_cost AS unbroken_cost
FROM billed
LEFT JOIN marks USING (tenant, session_id, thread_id);
