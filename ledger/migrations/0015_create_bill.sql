-- What the cache cost, in tokens and in money; what is recorded in parts, counted
-- once; estimates beside bills, layer by layer; and the checks that read everything,
-- made fast. The conventions are those of 0004. What the columns of a view mean, with
-- units, is in queries/views.txt and columns.txt: `ctxledger query show VIEW` prints it.

-- What tokens cost, as `ctxledger prices import` was told. This is configuration
-- and no fact: a rebuild leaves it alone, and all tenants share it. The newest
-- version of a row counts, and one that says removed takes it away.
CREATE TABLE IF NOT EXISTS prices
(
    model String,
    bucket LowCardinality(String),
    currency LowCardinality(String),
    valid_from DateTime64(9, 'UTC'),
    valid_until Nullable(DateTime64(9, 'UTC')),
    per_million Float64,
    source String,
    version UInt64,
    removed UInt8
)
ENGINE = ReplacingMergeTree(version, removed)
ORDER BY (model, bucket, currency, valid_from);

-- price_list: one row a price.
CREATE OR REPLACE VIEW price_list AS
SELECT model, toString(bucket) AS bucket, per_million, toString(currency) AS currency, valid_from, valid_until, source
FROM prices FINAL;

-- model_prices: one row a price that holds for a model which calls name, the one
-- with the longest pattern and then the youngest first.
CREATE OR REPLACE VIEW model_prices AS
SELECT m.model AS model, p.bucket AS bucket, p.per_million AS per_million, p.currency AS currency, p.valid_from AS valid_from,
    p.valid_until AS valid_until, p.model AS pattern, p.source AS source,
    row_number() OVER (PARTITION BY m.model, p.bucket ORDER BY length(replaceAll(p.model, '*', '')) DESC, p.model, p.valid_from DESC, p.currency) AS precedence
FROM (SELECT DISTINCT toString(model) AS model FROM calls) AS m
CROSS JOIN price_list AS p
WHERE m.model LIKE replaceAll(replaceAll(replaceAll(replaceAll(p.model, '\\', '\\\\'), '%', '\\%'), '_', '\\_'), '*', '%');

-- call_costs: one row a model call, with its cost as recorded and, beside it, by
-- the price list as it was when the call was made.
CREATE OR REPLACE VIEW call_costs AS
WITH
['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'cache_write', 'output', 'reasoning'] AS buckets,
lists AS
(
    SELECT model, arraySort(p -> p.6, groupArray((bucket, valid_from, ifNull(valid_until, toDateTime64('2260-01-01', 9, 'UTC')), toNullable(per_million), currency, precedence, pattern))) AS list
    FROM model_prices GROUP BY model
),
listed AS
(
    SELECT c.*, arrayFilter(p -> c.event_time >= p.2 AND c.event_time < p.3, l.list) AS held
    FROM model_calls AS c LEFT JOIN lists AS l ON l.model = toString(c.model)
),
valued AS
(
    SELECT *,
        arrayFirst(p -> p.1 = 'input', held) AS chosen,
        [uncached_input, cache_read, cache_write_5m, cache_write_1h, cache_write, output, reasoning] AS used,
        arrayMap(b -> arrayFirst(p -> p.1 = b AND p.5 = chosen.5, held).4, buckets) AS own,
        arrayMap((p, b) -> multiIf(p IS NOT NULL, p, b = 'reasoning', own[6], b IN ('cache_write_5m', 'cache_write_1h'), own[5], NULL), own, buckets) AS prices,
        arrayMap((n, p) -> if(ifNull(n, 0) = 0, 0, n * p / 1000000), used, prices) AS parts,
        uncached_input IS NOT NULL AND output IS NOT NULL AS counted
    FROM listed
)
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    thread_order, lineage_id, call_id, model, synthetic, uncached_input, cache_read, cache_write_5m, cache_write_1h, cache_write,
    cache_written, output, reasoning, window_tokens, recomputed_billed, estimated_tokens, assembly_id, system_digest, tools_digest,
    gap_seconds, cache_lifetime_seconds, cost, currency, price_ref,
    if(counted AND NOT has(parts, NULL), arraySum(p -> ifNull(p, 0), parts), NULL) AS priced_cost, chosen.5 AS priced_currency,
    if(counted, parts[1], NULL) AS input_cost, if(counted, parts[2], NULL) AS cache_read_cost,
    if(counted, parts[3] + parts[4] + parts[5], NULL) AS cache_write_cost, if(counted, parts[6] + parts[7], NULL) AS output_cost,
    prices[2] AS cache_read_price,
    (parts[1] + parts[3] + parts[4] + parts[5]) * 1000000 / nullIf(recomputed_billed, 0) AS recomputed_price,
    arrayFilter((b, p) -> p IS NULL, buckets, parts) AS unpriced_buckets, chosen.7 AS price_pattern
FROM valued;

-- cache_bill: one row a model call: what of its window the cache could give, what
-- it gave, why not more, what that cost, and what there would be without the break.
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
        FROM replacements FINAL WHERE record_kind = 'elision' OR record_kind = 'compaction' AND change = 'completed'
        UNION ALL
        SELECT tenant, session_id, thread_id, 'pressure', ifNull(sequence, toInt64(stream_seq)) FROM windows FINAL WHERE record_kind = 'pressure' AND outcome IN ('applied', 'insufficient')
        UNION ALL
        SELECT tenant, session_id, thread_id, 'removal', ifNull(sequence, toInt64(stream_seq)) FROM placements FINAL WHERE record_kind = 'removal'
    )
    GROUP BY tenant, session_id, thread_id
),
assembled AS
(
    SELECT tenant, session_id, call_id,
        if(length(found) = 1, found, arraySort(p -> (-p.1, p.3), found)) AS newest,
        if(length(found) = 1, found, arrayFilter((p, i) -> p.2 = newest[1].2 AND i = arrayFirstIndex(o -> o.2 = p.2 AND o.3 = p.3, newest), newest, arrayEnumerate(newest))) AS latest,
        if(length(latest) = 1, latest, arraySort(p -> p.3, latest)) AS parts,
        if(length(parts) = 1, parts[1].4, arrayFlatten(parts.4)) AS keys, if(length(parts) = 1, parts[1].5, arrayFlatten(parts.5)) AS sizes,
        if(length(parts) = 1, parts[1].6, arrayFlatten(parts.6)) AS refs
    FROM
    (
        SELECT tenant, session_id, call_id, groupArray((at, assembly_id, part, keys, sizes, refs)) AS found
        FROM
        (
            SELECT tenant, session_id, call_id, assembly_id, ifNull(sequence, toInt64(stream_seq)) AS at, greatest(JSONExtractUInt(metadata, 'part'), 1) AS part,
                arrayMap((d, i, b) -> cityHash64(multiIf(d != '', d, notEmpty(i), arrayStringConcat(i, ' '), b)), block_digests, block_items, blocks) AS given_keys,
                arrayMap(i -> cityHash64(i[1]), block_items) AS given_refs,
                arrayMap((p, n) -> (ifNull(p, 1000000000), n), block_positions, arrayEnumerate(blocks)) AS places,
                arrayExists((p, n) -> p > n, arrayPopBack(places), arrayPopFront(places)) AS shuffled,
                if(shuffled, arraySort((x, p) -> p, given_keys, places), given_keys) AS keys,
                if(shuffled, arraySort((x, p) -> p, block_tokens, places), block_tokens) AS sizes,
                if(shuffled, arraySort((x, p) -> p, given_refs, places), given_refs) AS refs
            FROM placements FINAL WHERE record_kind = 'assembly' AND call_id != ''
        )
        GROUP BY tenant, session_id, call_id
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
prefixes AS
(
    SELECT *,
        notEmpty(keys) AND NOT has(sizes, NULL) AS sized,
        sized AND (number = 1 OR notEmpty(previous_keys)) AS comparable,
        arrayFirstIndex(x -> x = 0, arrayPushBack(arrayMap((k, p) -> k = p, keys, arrayResize(previous_keys, length(keys))), 0)) - 1 AS common,
        arraySlice(keys, common + 1) AS rest_keys, arraySlice(sizes, common + 1) AS rest_sizes, arraySlice(refs, common + 1) AS rest_refs,
        arraySum(t -> ifNull(t, 0), sizes) AS whole, arraySum(t -> ifNull(t, 0), rest_sizes) AS rest,
        arraySum((k, t, i) -> if(has(previous_keys, k) OR i != cityHash64('') AND has(previous_refs, i), 0, ifNull(t, 0)), rest_keys, rest_sizes, rest_refs) AS fresh,
        if(number = 1, NULL, coalesce(gap_seconds, dateDiff('millisecond', previous_time, event_time) / 1000)) AS gap
    FROM pairs
),
billed AS
(
    SELECT *,
        if(number = 1 OR previous_read IS NULL AND previous_written IS NULL, NULL, ifNull(previous_read, 0) + ifNull(previous_written, 0)) AS reusable_tokens,
        if(reusable_tokens < cache_read, 0, reusable_tokens - cache_read) AS lost_tokens,
        if(lost_tokens > recomputed_billed, recomputed_billed, lost_tokens + 0 * recomputed_billed) AS broken_billed,
        if(comparable, rest - fresh, NULL) AS penalty_tokens
    FROM prefixes
)
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

-- cache_breaks: the calls of cache_bill that have a predecessor in their lineage.
CREATE OR REPLACE VIEW cache_breaks AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    thread_order, lineage_id, call_id, model, previous_call_id, previous_model, window_tokens, previous_window_tokens,
    cache_read, cache_written, recomputed_billed, reusable_tokens, lost_tokens, recomputed_expected, new_tokens, penalty_tokens,
    gap_seconds, cache_lifetime_seconds, cause, cost, currency, prefix_tokens, lost_expected, broken_billed, unbroken_billed,
    priced_cost, priced_currency, break_cost, unbroken_cost
FROM cache_bill
WHERE number > 1;

-- What one event cannot hold comes in parts under one record id. What is no list
-- stands in the first part, so whoever counts, counts part = 1; lists go on from
-- part to part.

-- surfaces: one row a part of a version of a surface.
CREATE OR REPLACE VIEW surfaces AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, substring(record_kind, 9) AS change,
    surface_id, surface_kind, candidate_refs AS available_refs, metadata,
    greatest(JSONExtractInt(metadata, 'part'), 1) AS part, greatest(JSONExtractInt(metadata, 'parts'), 1) AS parts
FROM decisions FINAL
WHERE record_kind IN ('surface_created', 'surface_updated')
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- budgets: one row a part of a budget.
CREATE OR REPLACE VIEW budgets AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, record_id AS budget_id, call_id, model, estimator, target,
    max_tokens, max_bytes, max_items, reserved_tokens, estimated_tokens, actual_tokens, actual_bytes, actual_items, overflow_strategy,
    max_tokens - ifNull(reserved_tokens, 0) - coalesce(actual_tokens, estimated_tokens) AS headroom_tokens,
    segments, segment_roles, segment_layers, segment_tokens, segment_items, segment_reserved,
    truncated_refs, truncated_before, truncated_after, truncated_strategies, metadata,
    greatest(JSONExtractInt(metadata, 'part'), 1) AS part, greatest(JSONExtractInt(metadata, 'parts'), 1) AS parts
FROM windows FINAL
WHERE record_kind = 'budget'
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- pressure_steps: one row a part of a rung that was tried.
CREATE OR REPLACE VIEW pressure_steps AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, record_id AS pressure_id, call_id, model, step, step_name,
    policy, outcome, tokens_before, tokens_after, limit_tokens, item_refs, reason, metadata,
    greatest(JSONExtractInt(metadata, 'part'), 1) AS part, greatest(JSONExtractInt(metadata, 'parts'), 1) AS parts
FROM windows FINAL
WHERE record_kind = 'pressure'
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- assemblies: one row a part of an assembly.
CREATE OR REPLACE VIEW assemblies AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, assembly_id, call_id, target, item_refs, redaction_state,
    budget_ref, blocks, block_items, block_positions, block_layers, block_roles, block_wrappers, block_tokens,
    block_digests, block_redactions, metadata,
    greatest(JSONExtractInt(metadata, 'part'), 1) AS part, greatest(JSONExtractInt(metadata, 'parts'), 1) AS parts
FROM placements FINAL
WHERE record_kind = 'assembly'
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- elisions: one row a part of an elision pass or of the reload of one.
CREATE OR REPLACE VIEW elisions AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, change, record_id AS pass_id, call_id, policy, trigger,
    level, tokens_before, tokens_after, tokens_saved, first_changed_position, elided_refs, elided_tool_call_ids,
    elided_positions, elided_before, elided_after, elided_levels, elided_reload_refs, metadata,
    greatest(JSONExtractInt(metadata, 'part'), 1) AS part, greatest(JSONExtractInt(metadata, 'parts'), 1) AS parts
FROM replacements FINAL
WHERE record_kind = 'elision'
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- redaction_trail: one row a part of a redaction.
CREATE OR REPLACE VIEW redaction_trail AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    ifNull(sequence, toInt64(stream_seq)) AS thread_order, record_id AS redaction_id, call_id, target_ref,
    redaction_state, method, redacted_fields, reason, policy_refs, actor, replacement_ref, fingerprint_keys,
    fingerprint_lengths, metadata,
    greatest(JSONExtractInt(metadata, 'part'), 1) AS part, greatest(JSONExtractInt(metadata, 'parts'), 1) AS parts
FROM redactions FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- call_layers: one row a model call and layer of its window: its tokens as each of
-- three facts has them, side by side. What is billed has no layers.
CREATE OR REPLACE VIEW call_layers AS
WITH
said AS
(
    SELECT tenant, session_id, call_id, toString(layer) AS layer, tokens AS usage_tokens, CAST(NULL, 'Nullable(Int64)') AS assembly_tokens, CAST(NULL, 'Nullable(Int64)') AS budget_tokens
    FROM layer_usage
    UNION ALL
    SELECT tenant, session_id, call_id, toString(b.1), NULL, b.2, NULL
    FROM
    (
        SELECT tenant, session_id, call_id, block_layers, block_tokens, assembly_id = argMax(assembly_id, thread_order) OVER (PARTITION BY tenant, session_id, call_id) AS latest
        FROM assemblies WHERE call_id != ''
    )
    ARRAY JOIN arrayZip(block_layers, block_tokens) AS b
    WHERE latest
    UNION ALL
    SELECT tenant, session_id, call_id, toString(s.1), NULL, NULL, s.2
    FROM
    (
        SELECT tenant, session_id, call_id, segment_layers, segment_tokens, budget_id = argMax(budget_id, thread_order) OVER (PARTITION BY tenant, session_id, call_id) AS latest
        FROM budgets WHERE call_id != ''
    )
    ARRAY JOIN arrayZip(segment_layers, segment_tokens) AS s
    WHERE latest
)
SELECT tenant, session_id, call_id, layer, sum(s.usage_tokens) AS usage_tokens, sum(s.assembly_tokens) AS assembly_tokens, sum(s.budget_tokens) AS budget_tokens
FROM said AS s
GROUP BY tenant, session_id, call_id, layer;

-- The checks below read every row. They first find, by sums, the sessions in which
-- something does not come out, and then look only there for what it is.

-- What the ids of a row come to, reckoned when it is asked for: an insert is not to
-- pay for it.
ALTER TABLE events ADD COLUMN IF NOT EXISTS correlation_hash UInt64 ALIAS
    cityHash64(tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE scopes ADD COLUMN IF NOT EXISTS correlation_hash UInt64 ALIAS
    cityHash64(tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE items ADD COLUMN IF NOT EXISTS correlation_hash UInt64 ALIAS
    cityHash64(tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE decisions ADD COLUMN IF NOT EXISTS correlation_hash UInt64 ALIAS
    cityHash64(tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE windows ADD COLUMN IF NOT EXISTS correlation_hash UInt64 ALIAS
    cityHash64(tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE placements ADD COLUMN IF NOT EXISTS correlation_hash UInt64 ALIAS
    cityHash64(tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE replacements ADD COLUMN IF NOT EXISTS correlation_hash UInt64 ALIAS
    cityHash64(tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE redactions ADD COLUMN IF NOT EXISTS correlation_hash UInt64 ALIAS
    cityHash64(tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE missing ADD COLUMN IF NOT EXISTS correlation_hash UInt64 ALIAS
    cityHash64(tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE calls ADD COLUMN IF NOT EXISTS correlation_hash UInt64 ALIAS
    cityHash64(tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);
ALTER TABLE log_items ADD COLUMN IF NOT EXISTS correlation_hash UInt64 ALIAS
    cityHash64(tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id);

-- check_lost_runtime_ids: one row a stored position where a typed table does not
-- carry the ids of its event.
CREATE OR REPLACE VIEW check_lost_runtime_ids AS
WITH
stored AS
(
    SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(1) AS place, correlation_hash FROM events FINAL
    UNION ALL SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(2) AS place, correlation_hash FROM scopes FINAL
    UNION ALL SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(4) AS place, correlation_hash FROM items FINAL
    UNION ALL SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(8) AS place, correlation_hash FROM decisions FINAL
    UNION ALL SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(16) AS place, correlation_hash FROM windows FINAL
    UNION ALL SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(32) AS place, correlation_hash FROM placements FINAL
    UNION ALL SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(64) AS place, correlation_hash FROM replacements FINAL
    UNION ALL SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(128) AS place, correlation_hash FROM redactions FINAL
    UNION ALL SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(256) AS place, correlation_hash FROM missing FINAL
    UNION ALL SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(512) AS place, correlation_hash FROM calls FINAL
    UNION ALL SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(1024) AS place, correlation_hash FROM log_items FINAL
),
suspects AS
(
    SELECT DISTINCT tenant, session_id
    FROM (SELECT tenant, session_id, event_type, place = 1 AS recorded, cityHash64(incarnation, stream_seq, correlation_hash) AS hash FROM stored)
    GROUP BY tenant, session_id, event_type
    HAVING countIf(NOT recorded) > 0
        AND (countIf(recorded) = 0 OR countIf(NOT recorded) % countIf(recorded) != 0
            OR sumIf(hash, NOT recorded) != sumIf(hash, recorded) * intDiv(countIf(NOT recorded), countIf(recorded)))
)
SELECT tenant, session_id, incarnation, stream_seq,
    arrayStringConcat(arrayFilter((name, bit) -> bit > 0 AND bitTest(places, bit),
        ['events', 'scopes', 'items', 'decisions', 'windows', 'placements', 'replacements', 'redactions', 'missing', 'calls', 'log_items'],
        range(11)), ', ') AS table_name,
    if(bitTest(places, 0), 'the row has other correlation ids than its event', 'the row has no event') AS problem
FROM
(
    SELECT tenant, session_id, incarnation, stream_seq, groupBitOr(place) AS places, min(correlation_hash) AS least, max(correlation_hash) AS most
    FROM stored INNER JOIN suspects USING (tenant, session_id)
    GROUP BY tenant, session_id, incarnation, stream_seq
)
WHERE NOT bitTest(places, 0) OR least != most
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- check_sequence_gaps: one row a stretch of sequences of which nothing is known.
CREATE OR REPLACE VIEW check_sequence_gaps AS
WITH
explained AS
(
    SELECT tenant, d.1 AS source, session_id, toUInt64(greatest(r[1], 0)) AS number, toUInt64(greatest(r[2], 0)) AS last
    FROM
    (
        SELECT tenant, session_id, arrayJoin(JSONExtract(data, 'sequences', 'Array(Tuple(source String, ranges Array(Array(Int64))))')) AS d
        FROM events FINAL PREWHERE event_type = 'context.facts.dropped'
    )
    ARRAY JOIN d.2 AS r
    WHERE length(r) = 2
    UNION ALL
    SELECT
        if(binary, JSONExtractString(header, 'ce-tenant', 1), JSONExtractString(data, 'tenant')) AS tenant, source,
        if(binary, JSONExtractString(header, 'ce-sessionid', 1), JSONExtractString(data, 'sessionid')) AS session_id,
        toUInt64OrZero(if(JSONHas(header, 'ce-id') AS binary, JSONExtractString(header, 'ce-sequence', 1), JSONExtractString(data, 'sequence'))) AS number, number
    FROM refused_events WHERE source != '' AND number > 0
),
suspects AS
(
    SELECT tenant, toString(source) AS source, session_id FROM recorded_events WHERE sequence >= 0
    GROUP BY tenant, source, session_id
    HAVING groupBitmap(toUInt64(assumeNotNull(sequence))) != max(assumeNotNull(sequence)) - min(assumeNotNull(sequence)) + 1
    UNION DISTINCT
    SELECT tenant, source, session_id FROM explained
),
used AS
(
    SELECT e.tenant AS tenant, toString(e.source) AS source, e.session_id AS session_id, toUInt64(assumeNotNull(e.sequence)) AS number, number AS last
    FROM recorded_events AS e INNER JOIN suspects AS s ON s.tenant = e.tenant AND s.source = toString(e.source) AND s.session_id = e.session_id
    WHERE e.sequence >= 0
    UNION ALL
    SELECT tenant, source, session_id, number, last FROM explained
),
stretches AS
(
    SELECT tenant, source, session_id, number AS first,
        max(last) OVER (PARTITION BY tenant, source, session_id ORDER BY number, last ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached,
        row_number() OVER (PARTITION BY tenant, source, session_id ORDER BY number, last) AS place
    FROM used
)
SELECT tenant, source, session_id, reached + 1 AS first_missing, first - 1 AS last_missing, toUInt64(first - reached - 1) AS missing,
    'facts of these sequences are neither recorded nor refused nor declared as dropped' AS problem
FROM stretches WHERE place > 1 AND first > reached + 1;

-- check_conservation: one row a selection and way in which it breaks the rule
-- candidates = selected + omitted.
CREATE OR REPLACE VIEW check_conservation AS
WITH
suspects AS
(
    SELECT DISTINCT tenant, session_id, selection_id
    FROM
    (
        SELECT tenant, session_id, selection_id, change, parts, length(item_refs) AS items, arraySum(i -> cityHash64(i), item_refs) AS items_sum,
            length(candidate_refs) AS considered, arraySum(i -> cityHash64(i), candidate_refs) AS considered_sum,
            length(arrayDistinct(item_refs)) < items OR arrayExists((o, r) -> o = 'omitted' AND r = '', outcomes, reasons) AS wrong
        FROM selections
    )
    GROUP BY tenant, session_id, selection_id
    HAVING countIf(change = 'completed') > 0
        AND (countIf(change = 'completed') > 1 OR max(ifNull(parts, 1)) > 1 OR max(wrong) > 0
            OR minIf(considered, considered > 0) != maxIf(considered, considered > 0) OR minIf(considered_sum, considered > 0) != maxIf(considered_sum, considered > 0)
            OR max(considered) > 0 AND (max(considered) != max(items) OR maxIf(considered_sum, considered > 0) != maxIf(items_sum, change = 'completed')))
),
decided AS
(
    SELECT tenant, session_id, selection_id, any(turn_id) AS turn_id, any(call_id) AS call_id,
        arrayDistinct(arrayFlatten(groupArray(candidate_refs))) AS considered,
        arrayDistinct(arrayFlatten(groupArrayIf(arrayFilter((i, o) -> o = 'selected', item_refs, outcomes), change = 'completed'))) AS chosen,
        arrayDistinct(arrayFlatten(groupArrayIf(arrayFilter((i, o) -> o = 'omitted', item_refs, outcomes), change = 'completed'))) AS left_out,
        arrayDistinct(arrayFlatten(groupArrayIf(arrayFilter((i, o, r) -> o = 'omitted' AND r = '', item_refs, outcomes, reasons), change = 'completed'))) AS unexplained,
        countIf(change = 'completed') AS completed, uniqExactIf(part, change = 'completed' AND parts > 1) AS parts_seen, maxIf(parts, change = 'completed') AS parts_said
    FROM selections INNER JOIN suspects USING (tenant, session_id, selection_id) GROUP BY tenant, session_id, selection_id
    HAVING completed > 0
)
SELECT tenant, session_id, turn_id, call_id, selection_id, violation.1 AS problem, violation.2 AS item_refs
FROM decided
ARRAY JOIN arrayFilter(v -> notEmpty(v.2), [
    ('candidate is neither selected nor omitted', arrayFilter(i -> NOT has(chosen, i) AND NOT has(left_out, i), considered)),
    ('candidate is both selected and omitted', arrayIntersect(chosen, left_out)),
    ('decided item was no candidate', if(empty(considered), [], arrayFilter(i -> NOT has(considered, i), arrayConcat(chosen, left_out)))),
    ('omission has no reason', unexplained)]) AS violation
UNION ALL
SELECT tenant, session_id, turn_id, call_id, selection_id,
    concat('only ', toString(parts_seen), ' of ', toString(parts_said), ' parts of the selection are recorded'), []
FROM decided WHERE parts_said > 1 AND parts_seen < parts_said;

-- check_unsealed_scopes: one row a session and source without an envelope.
CREATE OR REPLACE VIEW check_unsealed_scopes AS
SELECT tenant, source, session_id, max(recorded_at) AS last_fact_at, count() AS facts,
    'the session has no envelope although its source seals others, and is quiet for a day' AS problem
FROM events FINAL
WHERE session_id != '' AND (tenant, source) IN (SELECT tenant, source FROM scopes WHERE record_kind = 'envelope')
    AND (tenant, source, session_id) NOT IN (SELECT tenant, source, session_id FROM scopes WHERE record_kind = 'envelope')
GROUP BY tenant, source, session_id
HAVING last_fact_at < (SELECT max(recorded_at) FROM events) - toIntervalDay(1)
SETTINGS do_not_merge_across_partitions_select_final = 1;
