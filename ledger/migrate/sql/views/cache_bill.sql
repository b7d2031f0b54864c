-- One row a model call: what its window could take from the cache, what it took, why not
-- more, what that cost, and what there would be without the break.
--
-- Each step is a subquery of its own. The server names an expression by its whole text: a
-- chain of expressions that each use the one before more than once takes longer to plan
-- than to answer for one session.
--
-- Assemblies and calls come as one stream in the order of their keys, and each call
-- follows its assemblies. No table of all windows is built to look one up. An assembly
-- that was recorded in parts is put together before it meets its call: whole ones are not
-- gathered and flattened again.
--
-- The view reads without FINAL. Of an assembly each part counts once, of a call one
-- version, and marks are points in time, so a row that is stored twice makes no
-- difference. A size that is not known is -1. Items that have the same hashes as their
-- blocks are not kept twice.
--
-- A block without a digest is known by its items, which it keeps when it is cut to a
-- stub. The common prefix therefore also ends where a size changes, as for `ctxledger
-- diff` and for the runtime that plans by it.
--
-- Of the records of one call the one counts that counts in model_calls. Records of one message of the
-- provider can have several ids of calls: the others are left out.
--
-- An assembly that lacks blocks of its base is left out: what its call and the next could take
-- from the cache is not known.
--
-- A call whose window only grew has the cause append. Without both windows, the billed tokens decide. A
-- break without any cause is unexplained.
--
-- break_cost needs the prices of input only. A call whose output is not known or has no price has it, too.
--
-- Marks are lists. An ASOF join that finds the last of each kind is cheaper for
-- everything, but a filter on the tenant does not reach its right side.
--
-- Needs: based_assemblies, calls, model_rates, placements, replacements, retold, windows.
--
--   HEAD
--   thread_order            Int64                   sequence
--   lineage_id              String                  id
--   call_id                 String                  id
--   model                   LowCardinality(String)  text
--   number                  UInt64                  count
--   previous_call_id        String                  id
--   previous_model          String                  text
--   gap_seconds             Nullable(Float64)       seconds
--   cache_lifetime_seconds  Nullable(Int64)         seconds
--   cause                   String                  text
--   window_tokens           Nullable(Int64)         tokens
--   previous_window_tokens  Nullable(Int64)         tokens
--   cache_read              Nullable(Int64)         tokens
--   cache_written           Nullable(Int64)         tokens
--   recomputed_billed       Nullable(Int64)         tokens
--   reusable_tokens         Nullable(Int64)         tokens
--   lost_tokens             Nullable(Int64)         tokens
--   broken_billed           Nullable(Int64)         tokens
--   unbroken_billed         Nullable(Int64)         tokens
--   window_expected         Nullable(Int64)         tokens
--   prefix_tokens           Nullable(Int64)         tokens
--   recomputed_expected     Nullable(Int64)         tokens
--   new_tokens              Nullable(Int64)         tokens
--   penalty_tokens          Nullable(Int64)         tokens
--   lost_expected           Nullable(Int64)         tokens
--   cost                    Nullable(Float64)       currency
--   currency                LowCardinality(String)  text
--   priced_cost             Nullable(Float64)       currency
--   priced_currency         String                  text
--   unpriced_buckets        Array(String)           text
--   break_cost              Nullable(Float64)       currency
--   unbroken_cost           Nullable(Float64)       currency
--   cache_miss_reason       LowCardinality(String)  text
--   at_least_cost           Nullable(Float64)       currency
--   cost_lacks              String                  text
CREATE OR REPLACE VIEW cache_bill AS
WITH
['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'cache_write', 'output', 'reasoning'] AS buckets,
marks AS
(
    SELECT
        tenant, session_id, thread_id, groupArrayIf(at, kind = 'compaction') AS compacted_at,
        groupArrayIf(at, kind = 'elision') AS elided_at, groupArrayIf(at, kind = 'pressure') AS pressed_at,
        groupArrayIf(at, kind = 'removal') AS moved_at
    FROM
    (
        SELECT
            tenant, session_id,
            if(record_kind = 'compaction' AND source_thread_id != '', source_thread_id, thread_id) AS thread_id,
            toString(record_kind) AS kind, ifNull(sequence, toInt64(stream_seq)) AS at
        FROM replacements
        WHERE (record_kind = 'elision' OR record_kind = 'compaction' AND change = 'completed')
            AND (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
        UNION ALL
        SELECT tenant, session_id, thread_id, 'pressure', ifNull(sequence, toInt64(stream_seq))
        FROM windows
        WHERE record_kind = 'pressure' AND outcome IN ('applied', 'insufficient')
        UNION ALL
        SELECT tenant, session_id, thread_id, 'removal', ifNull(sequence, toInt64(stream_seq))
        FROM placements
        WHERE record_kind = 'removal'
    )
    GROUP BY tenant, session_id, thread_id
),
rates AS
(
    SELECT model, groupArray((valid_from, valid_until, steps, currency)) AS rates
    FROM model_rates
    GROUP BY model
),
assemblies AS
(
    SELECT
        stream_seq, tenant, session_id, attempt_id, call_id, assembly_id,
        ifNull(sequence, toInt64(stream_seq)) AS at, part, parted,
        if(shuffled, arraySort((x, p, n) -> (p, n), given_keys, places, arrayEnumerate(places)), given_keys) AS keys,
        if(shuffled, arraySort((x, p, n) -> (p, n), given_sizes, places, arrayEnumerate(places)), given_sizes) AS sizes,
        if(
            given_refs = given_keys, [],
            if(shuffled, arraySort((x, p, n) -> (p, n), given_refs, places, arrayEnumerate(places)), given_refs)
        ) AS refs
    FROM
    (
        SELECT
            stream_seq, sequence, tenant, session_id, attempt_id, call_id, assembly_id,
            greatest(JSONExtractUInt(metadata, 'part'), 1) AS part,
            part > 1 OR JSONExtractUInt(metadata, 'parts') > 1 AS parted,
            arrayMap(p -> ifNull(p, 1000000000), block_positions) AS places,
            arrayExists(d -> d < 0, arrayDifference(places)) AS shuffled,
            arrayMap(t -> toInt32(least(ifNull(t, -1), 2147483647)), block_tokens) AS given_sizes,
            arrayMap(i -> cityHash64(i[1]), block_items) AS given_refs,
            arrayMap(
                (d, i, b, r) -> if(
                    d != '', cityHash64(d),
                    if(length(i) = 1, r, if(notEmpty(i), cityHash64(arrayStringConcat(i, ' ')), cityHash64(b)))),
                block_digests, block_items, blocks, given_refs) AS given_keys
        FROM
        (
            SELECT
                stream_seq, sequence, source, tenant, session_id, attempt_id, call_id, assembly_id, metadata,
                blocks, block_items, block_positions, block_tokens, block_digests
            FROM placements
            WHERE record_kind = 'assembly' AND call_id != '' AND base_assembly_id = ''
            UNION ALL
            SELECT
                stream_seq, sequence, source, tenant, session_id, attempt_id, call_id, assembly_id, metadata,
                blocks, block_items, block_positions, block_tokens, block_digests
            FROM based_assemblies
            WHERE call_id != '' AND NOT has(coverage_reasons, 'base_missing')
        )
        WHERE (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
    )
),
messages AS
(
    SELECT tenant, session_id, provider_message_id AS message
    FROM calls
    WHERE provider_message_id NOT IN ('', call_id)
),
other_tellings AS
(
    SELECT incarnation, stream_seq
    FROM
    (
        SELECT
            incarnation, stream_seq, call_id,
            first_value(call_id) OVER (
                PARTITION BY tenant, session_id, attempt_id, message
                ORDER BY
                    multiIf(
                        fidelity = 'wire', 1, fidelity = 'serialized', 2, fidelity = 'stated', 3,
                        fidelity = 'reported', 4,
                        fidelity = 'reconstructed' OR startsWith(source, 'urn:ctxledger:import:'), 5, fidelity = '', 3,
                        6),
                    output DESC NULLS LAST, recorded_at, stream_seq) AS counts
        FROM (SELECT *, if(provider_message_id = '', call_id, provider_message_id) AS message FROM calls)
        WHERE (tenant, session_id, message) IN (messages)
            AND (tenant, session_id, concat(toString(source), '#', call_id)) NOT IN (
                SELECT tenant, session_id, source FROM retold)
    )
    WHERE call_id != counts
),
facts AS
(
    SELECT
        incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
        tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
        tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
        call_id, model, uncached_input, cache_read, cache_write_5m, cache_write_1h, cache_write, output, reasoning,
        window_tokens, if(lineage_id = thread_id, '', lineage_id) AS other_lineage,
        if(system_digest = '', 0, cityHash64(system_digest)) AS system,
        if(tools_digest = '', 0, cityHash64(tools_digest)) AS tools, gap_seconds, cache_lifetime_seconds, cost,
        currency, toLowCardinality(JSONExtractString(metadata, 'cache_miss_reason')) AS cache_miss_reason,
        JSONExtractBool(metadata, 'synthetic') AS synthetic,
        stop_reason = '' AND startsWith(source, 'urn:ctxledger:import:claude-code:') AS placeholder,
        true AS called, (
            2 * multiIf(
                fidelity = 'wire', 1, fidelity = 'serialized', 2, fidelity = 'stated', 3, fidelity = 'reported', 4,
                fidelity = 'reconstructed' OR startsWith(source, 'urn:ctxledger:import:'), 5, fidelity = '', 3, 6)
                + toInt64((tenant, session_id, source) IN (SELECT tenant, session_id, source FROM retold))
        ) * 100000000000000000 - ifNull(output, -1) AS first_rank,
        toInt64(toUnixTimestamp64Nano(recorded_at)) AS second_rank,
        CAST([], 'Array(UInt64)') AS keys, CAST([], 'Array(Int32)') AS sizes, CAST([], 'Array(UInt64)') AS refs
    FROM calls
    WHERE (incarnation, stream_seq) NOT IN (other_tellings)
        AND (tenant, session_id, concat(toString(source), '#', call_id)) NOT IN (
            SELECT tenant, session_id, source FROM retold)
    UNION ALL
    SELECT
        toUUID('00000000-0000-0000-0000-000000000000'), stream_seq, toDateTime64(0, 9, 'UTC'),
        toDateTime64(0, 9, 'UTC'), '', CAST('', 'LowCardinality(String)') AS word, word, NULL,
        tenant, word, '', word, session_id, '', '', '', '', attempt_id, '', '', '', '', '', '', '',
        call_id, word, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        '', 0, 0, NULL, NULL, NULL, word, word, false, false,
        false, at, -toInt64(part), keys, sizes, refs
    FROM assemblies
    WHERE NOT parted
    UNION ALL
    SELECT
        toUUID('00000000-0000-0000-0000-000000000000'), last.3, toDateTime64(0, 9, 'UTC'), toDateTime64(0, 9, 'UTC'),
        '', CAST('', 'LowCardinality(String)') AS word, word, NULL,
        tenant, word, '', word, session_id, '', '', '', '', attempt_id, '', '', '', '', '', '', '',
        call_id, word, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        '', 0, 0, NULL, NULL, NULL, word, word, false, false,
        false, last.1, last.2, arrayFlatten(parts.4), arrayFlatten(parts.5), arrayFlatten(parts.6)
    FROM
    (
        SELECT
            tenant, session_id, attempt_id, call_id, max((at, -toInt64(part), stream_seq)) AS last,
            arraySort(
                p -> (p.1, -p.2, p.3), groupArray((part, at, stream_seq, keys, sizes, if(empty(refs), keys, refs)))
            ) AS found,
            arrayFilter((p, was) -> p.1 != was, found, arrayPushFront(arrayPopBack(found.1), 0)) AS parts
        FROM assemblies
        WHERE parted
        GROUP BY tenant, session_id, attempt_id, call_id, assembly_id
    )
),
met AS
(
    SELECT
        * EXCEPT (keys, sizes, refs),
        lagInFrame(called, 1, false) OVER w AS again, lagInFrame(keys) OVER w AS newest_keys,
        lagInFrame(sizes) OVER w AS newest_sizes, lagInFrame(refs) OVER w AS newest_refs
    FROM facts
    WINDOW w AS (
        PARTITION BY tenant, session_id, attempt_id, call_id
        ORDER BY called, first_rank, second_rank, stream_seq
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
pairs AS
(
    SELECT
        * EXCEPT (newest_keys, newest_sizes, newest_refs, called, again, first_rank, second_rank, synthetic),
        ifNull(sequence, toInt64(stream_seq)) AS thread_order,
        if(
            cache_write IS NULL AND cache_write_5m IS NULL AND cache_write_1h IS NULL, NULL,
            ifNull(cache_write, 0) + ifNull(cache_write_5m, 0) + ifNull(cache_write_1h, 0)) AS cache_written,
        window_tokens - cache_read AS recomputed_billed, newest_keys AS keys, newest_sizes AS sizes, newest_refs AS refs
    FROM met
    WHERE called AND NOT again AND NOT synthetic
),
lagged AS
(
    SELECT
        *,
        row_number() OVER lineage AS number,
        lagInFrame(call_id) OVER lineage AS previous_call_id, lagInFrame(model) OVER lineage AS previous_model,
        lagInFrame(window_tokens) OVER lineage AS previous_window_tokens,
        lagInFrame(event_time) OVER lineage AS previous_time,
        lagInFrame(cache_read) OVER lineage AS previous_read,
        lagInFrame(cache_written) OVER lineage AS previous_written,
        lagInFrame(system) OVER lineage AS previous_system, lagInFrame(tools) OVER lineage AS previous_tools,
        lagInFrame(thread_order) OVER lineage AS previous_order,
        lagInFrame(keys) OVER lineage AS previous_keys, lagInFrame(sizes) OVER lineage AS previous_sizes,
        lagInFrame(refs) OVER lineage AS previous_refs,
        coalesce(
            cache_lifetime_seconds,
            multiIf(
                lagInFrame(cache_write_1h) OVER lineage > 0, 3600, lagInFrame(cache_write_5m) OVER lineage > 0, 300,
                NULL)) AS lifetime
    FROM pairs
    WINDOW lineage AS (
        PARTITION BY tenant, session_id, thread_id, other_lineage
        ORDER BY thread_order, stream_seq
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
compared AS
(
    SELECT
        *,
        notEmpty(keys) AND NOT has(sizes, -1) AS sized, sized AND (number = 1 OR notEmpty(previous_keys)) AS comparable,
        arrayFirstIndex(
            (k, p, n, was) -> k != p OR n != was AND n >= 0 AND was >= 0, keys,
            arrayResize(previous_keys, length(keys)), sizes, arrayResize(previous_sizes, length(keys))) AS parting,
        length(keys) >= length(previous_keys) AND (parting = 0 OR parting > length(previous_keys)) AS grew,
        if(parting = 0, [], arraySlice(keys, parting)) AS rest_keys,
        if(parting = 0, [], arraySlice(sizes, parting)) AS rest_sizes,
        if(
            parting = 0 OR empty(refs) AND empty(previous_refs), [], arraySlice(if(empty(refs), keys, refs), parting)
        ) AS rest_refs,
        if(empty(previous_refs), previous_keys, previous_refs) AS seen_refs
    FROM lagged
),
prefixes AS
(
    SELECT
        *,
        arraySum(sizes) AS whole, arraySum(rest_sizes) AS rest,
        if(
            empty(rest_refs), arraySum((k, t) -> if(has(previous_keys, k), 0, t), rest_keys, rest_sizes),
            arraySum(
                (k, t, i) -> if(has(previous_keys, k) OR i != cityHash64('') AND has(seen_refs, i), 0, t), rest_keys,
                rest_sizes, rest_refs)) AS fresh,
        if(
            number = 1, NULL,
            coalesce(
                gap_seconds,
                if(
                    previous_time < toDateTime64('1971-01-01', 9, 'UTC'), NULL,
                    dateDiff('millisecond', previous_time, event_time) / 1000))) AS gap,
        if(
            number = 1 OR previous_read IS NULL AND previous_written IS NULL, NULL,
            ifNull(previous_read, 0) + ifNull(previous_written, 0)) AS reusable_tokens
    FROM compared
),
listed AS
(
    SELECT
        p.*, if(comparable, rest - fresh, NULL) AS penalty_tokens,
        if(reusable_tokens < cache_read, 0, reusable_tokens - cache_read) AS lost_tokens,
        arrayFirst(r -> p.event_time >= r.1 AND p.event_time < r.2, l.rates) AS rate,
        arrayLast(s -> ifNull(p.window_tokens, 0) > s.1, rate.3).2 AS held,
        if(notEmpty(held), held, [NULL, NULL, NULL, NULL, NULL, NULL, NULL]) AS prices,
        [uncached_input, cache_read, cache_write_5m, cache_write_1h, cache_write, output, reasoning] AS used,
        arrayMap(
            (n, p, b) -> multiIf(placeholder AND b = 'output', NULL, ifNull(n, 0) = 0, 0, n * p / 1000000),
            used, prices, buckets) AS parts,
        uncached_input IS NOT NULL AND output IS NOT NULL AS counted
    FROM prefixes AS p
    LEFT JOIN rates AS l ON l.model = toString(p.model)
),
valued AS
(
    SELECT
        *, if(lost_tokens > recomputed_billed, recomputed_billed, lost_tokens + 0 * recomputed_billed) AS broken_billed,
        if(counted AND NOT has(parts, NULL), arraySum(p -> ifNull(p, 0), parts), NULL) AS priced_cost,
        rate.4 AS priced_currency, prices[2] AS cache_read_price,
        (parts[1] + parts[3] + parts[4] + parts[5]) * 1000000 / nullIf(recomputed_billed, 0) AS recomputed_price,
        arrayFilter((b, p) -> p IS NULL AND NOT (placeholder AND b = 'output'), buckets, parts) AS unpriced_buckets,
        multiIf(
            priced_cost IS NOT NULL, priced_cost, notEmpty(unpriced_buckets), NULL,
            arrayExists((n, p) -> ifNull(n, 0) > 0 AND p IS NOT NULL, used, parts),
            arraySum(p -> ifNull(p, 0), parts), NULL) AS at_least_cost,
        multiIf(priced_cost IS NOT NULL, '', notEmpty(unpriced_buckets), 'price', 'count') AS cost_lacks
    FROM listed
)
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    thread_order, if(other_lineage = '', thread_id, other_lineage) AS lineage_id, call_id, model, number,
    previous_call_id, previous_model, gap AS gap_seconds, lifetime AS cache_lifetime_seconds,
    multiIf(
        number = 1, 'first',
        gap > lifetime, 'idle',
        model != previous_model, 'model_switch',
        system != previous_system AND system != 0 AND previous_system != 0, 'system_change',
        tools != previous_tools AND tools != 0 AND previous_tools != 0, 'tools_change',
        arrayExists(x -> x > previous_order AND x < thread_order, compacted_at), 'compaction',
        arrayExists(x -> x > previous_order AND x < thread_order, elided_at), 'elision',
        if(comparable, grew, window_tokens >= previous_window_tokens AND ifNull(lost_tokens, 0) = 0), 'append',
        arrayExists(x -> x > previous_order AND x < thread_order, pressed_at), 'pressure',
        arrayExists(x -> x > previous_order AND x < thread_order, moved_at), 'injection',
        penalty_tokens > 0, 'rewrite',
        'unexplained') AS cause,
    window_tokens, if(number = 1, NULL, previous_window_tokens) AS previous_window_tokens, cache_read, cache_written,
    recomputed_billed, reusable_tokens, lost_tokens, broken_billed,
    recomputed_billed - broken_billed AS unbroken_billed,
    if(sized, whole, NULL) AS window_expected, if(comparable, whole - rest, NULL) AS prefix_tokens,
    if(comparable, rest, NULL) AS recomputed_expected,
    if(comparable, fresh, NULL) AS new_tokens, penalty_tokens,
    if(comparable AND NOT has(previous_sizes, -1), arraySum(previous_sizes) - (whole - rest), NULL) AS lost_expected,
    cost, currency, priced_cost, priced_currency, unpriced_buckets,
    if(
        broken_billed = 0, 0 * (parts[1] + parts[3] + parts[4] + parts[5]),
        broken_billed * if(recomputed_price < cache_read_price, 0, recomputed_price - cache_read_price) / 1000000
    ) AS break_cost,
    priced_cost - break_cost AS unbroken_cost, cache_miss_reason, at_least_cost, cost_lacks
FROM valued
LEFT JOIN marks USING (tenant, session_id, thread_id)
SETTINGS max_block_size = 8192, max_bytes_before_external_sort = 67108864;
