-- Views that answer a question. HEAD and the conventions are those of 0004. A
-- filter on tenant and session_id reaches the tables below every one of them, so
-- give both where they are known.

-- turn_candidates: one row a candidate that a selection decided.
--   HEAD, thread_order, selection_id, surface_id, call_id, policy, query, intent,
--   model, part, item_ref, outcome (selected, omitted), rank (1 is best), score,
--   tokens, reason, note, signals (name → value)
CREATE OR REPLACE VIEW turn_candidates AS
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    thread_order, selection_id, surface_id, call_id, policy, query, intent, model, part,
    item_ref, outcome, rank, score, tokens, reason, note, signals
FROM selections
ARRAY JOIN item_refs AS item_ref, outcomes AS outcome, ranks AS rank, scores AS score, tokens, reasons AS reason, notes AS note, signals
WHERE change = 'completed';

-- omissions: one row a candidate that was left out: the columns of turn_candidates.
CREATE OR REPLACE VIEW omissions AS
SELECT * FROM turn_candidates WHERE outcome = 'omitted';

-- layer_usage: one row a model call and layer of its window, as estimated.
--   HEAD, thread_order, call_id, model, estimator, layer_order (0 is first), layer,
--   tokens, items, placement, changed (since the last call of the lineage)
CREATE OR REPLACE VIEW layer_usage AS
SELECT
    w.incarnation AS incarnation, w.stream_seq AS stream_seq, w.recorded_at AS recorded_at, w.event_time AS event_time,
    w.event_id AS event_id, w.source AS source, w.event_type AS event_type, w.sequence AS sequence,
    w.tenant AS tenant, w.agent AS agent, w.resource_id AS resource_id, w.runtime_id AS runtime_id,
    w.session_id AS session_id, w.thread_id AS thread_id, w.turn_id AS turn_id, w.task_id AS task_id,
    w.run_id AS run_id, w.attempt_id AS attempt_id, w.step_id AS step_id, w.tool_call_id AS tool_call_id,
    w.action_id AS action_id, w.evidence_id AS evidence_id, w.context_id AS context_id,
    w.parent_run_id AS parent_run_id, w.root_run_id AS root_run_id,
    ifNull(w.sequence, toInt64(w.stream_seq)) AS thread_order, w.call_id AS call_id, w.model AS model,
    w.estimator AS estimator, part.1 - 1 AS layer_order, part.2 AS layer, part.3 AS tokens, part.4 AS items,
    part.5 AS placement, part.6 AS changed
FROM (SELECT * FROM windows FINAL WHERE record_kind = 'usage') AS w
INNER JOIN (SELECT tenant, session_id, incarnation, stream_seq FROM model_calls) AS c
    ON w.tenant = c.tenant AND w.session_id = c.session_id AND w.incarnation = c.incarnation AND w.stream_seq = c.stream_seq
ARRAY JOIN arrayZip(arrayEnumerate(w.segments), w.segment_layers, w.segment_tokens, w.segment_items, w.segment_placements, w.segment_changed) AS part
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- turn_window: what the model saw, in order, one row a block and call. Where the
-- runtime recorded an assembly for the call, its blocks (origin assembly; the last
-- assembly of a call and target counts). Else the stretch of the item log that the
-- call's window was projected from (origin log), without entries that a summary
-- had replaced by then; what a user rewound is still in it.
--   recorded_at, event_time (of the assembly, or of the call's usage) and the
--   correlation ids of the call; tool_call_id is the entry's where origin is log
--   thread_order (of the call), call_id, target, origin (assembly, log), assembly_id
--   injected: whether the assembly was made visible to its target; NULL for origin log
--   position (0 is first), log_position (of the item log), block, layer, role,
--   item_type, name (of the function), title, item_refs
--   tokens: as the model saw it; NULL where that is not known, such as for a stub
--   tokens_full: before any elision
--   digest, redaction_state, elided (bool), elided_by (the pass)
CREATE OR REPLACE VIEW turn_window AS
WITH
cuts AS
(
    SELECT tenant, session_id, if(record_kind = 'compaction' AND source_thread_id != '', source_thread_id, thread_id) AS thread_id,
        arraySort(p -> p.1, groupArrayIf((at, change = 'applied', elided_refs, elided_tool_call_ids, elided_after, record_id, elided_before), record_kind = 'elision')) AS passes,
        groupArrayIf((at, ifNull(first_position, -1), ifNull(last_position, -1), retained_tail_refs), record_kind = 'compaction') AS replaced
    FROM (SELECT *, ifNull(sequence, toInt64(stream_seq)) AS at FROM replacements FINAL WHERE record_kind = 'elision' OR record_kind = 'compaction' AND change = 'completed')
    GROUP BY tenant, session_id, thread_id
),
titles AS
(
    SELECT tenant, session_id, item_id, argMax((title, toString(layer), token_estimate, toString(redaction_state)), ifNull(sequence, toInt64(stream_seq))) AS item
    FROM items FINAL WHERE change != 'removed' GROUP BY tenant, session_id, item_id
),
placed AS
(
    SELECT *, countIf(record_kind = 'injection') OVER (PARTITION BY tenant, session_id, assembly_id) AS shown,
        first_value(assembly_id) OVER (PARTITION BY tenant, session_id, call_id, target, record_kind, if(call_id = '', assembly_id, '') ORDER BY ifNull(sequence, toInt64(stream_seq)) DESC) AS latest,
        row_number() OVER (PARTITION BY tenant, session_id, assembly_id, record_kind, JSONExtractUInt(metadata, 'part') ORDER BY ifNull(sequence, toInt64(stream_seq)) DESC) AS version
    FROM placements FINAL WHERE assembly_id != ''
),
seen AS
(
    SELECT
        recorded_at, event_time, tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
        tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
        ifNull(sequence, toInt64(stream_seq)) AS thread_order, call_id, toString(target) AS target, 'assembly' AS origin, assembly_id,
        CAST(shown > 0, 'Nullable(Bool)') AS injected, ifNull(b.3, 1000000000) AS place, b.9 AS place_given, CAST(NULL, 'Nullable(Int64)') AS log_position,
        b.1 AS block, toString(b.4) AS layer, toString(b.5) AS role, '' AS item_type, '' AS name, b.2 AS item_refs, b.6 AS tokens, b.7 AS digest, toString(b.8) AS redaction_state
    FROM placed
    ARRAY JOIN arrayZip(blocks, block_items, block_positions, block_layers, block_roles, block_tokens, block_digests, block_redactions, arrayEnumerate(blocks)) AS b
    WHERE record_kind = 'assembly' AND assembly_id = latest AND version = 1
    UNION ALL
    SELECT
        c.recorded_at, c.event_time, c.tenant, c.agent, c.resource_id, c.runtime_id, c.session_id, c.thread_id, c.turn_id, c.task_id,
        c.run_id, c.attempt_id, c.step_id, l.tool_call_id, c.action_id, c.evidence_id, c.context_id, c.parent_run_id, c.root_run_id,
        c.thread_order, c.call_id, '', 'log', '', NULL, ifNull(l.position, 0), 0, l.position,
        l.log_item_id, '', toString(l.role), toString(l.item_type), toString(l.name), [if(l.item_ref = '', l.log_item_id, l.item_ref)], l.tokens, l.content_digest, ''
    FROM model_calls AS c
    INNER JOIN (SELECT * FROM log_items FINAL) AS l ON l.tenant = c.tenant AND l.session_id = c.session_id AND l.thread_id = c.thread_id
    WHERE l.position >= c.window_first AND l.position < c.window_next
),
described AS
(
    SELECT *,
        arrayLast(p -> p.1 < thread_order AND (hasAny(p.3, item_refs) OR item_type = 'function_call_output' AND has(p.4, tool_call_id)), passes) AS pass,
        greatest(indexOf(pass.3, item_refs[1]), if(tool_call_id = '', 0, indexOf(pass.4, tool_call_id))) AS at,
        countIf(origin = 'assembly') OVER (PARTITION BY tenant, session_id, call_id) AS assembled
    FROM seen
    LEFT JOIN cuts USING (tenant, session_id, thread_id)
    WHERE origin = 'assembly' OR NOT arrayExists(x -> x.1 < thread_order AND log_position BETWEEN x.2 AND x.3 AND NOT has(x.4, item_refs[1]), replaced)
)
SELECT
    d.recorded_at AS recorded_at, d.event_time AS event_time, d.tenant AS tenant, d.agent AS agent, d.resource_id AS resource_id,
    d.runtime_id AS runtime_id, d.session_id AS session_id, d.thread_id AS thread_id, d.turn_id AS turn_id, d.task_id AS task_id,
    d.run_id AS run_id, d.attempt_id AS attempt_id, d.step_id AS step_id, d.tool_call_id AS tool_call_id, d.action_id AS action_id,
    d.evidence_id AS evidence_id, d.context_id AS context_id, d.parent_run_id AS parent_run_id, d.root_run_id AS root_run_id,
    d.thread_order AS thread_order, d.call_id AS call_id, d.target AS target, d.origin AS origin, d.assembly_id AS assembly_id, d.injected AS injected,
    toInt64(row_number() OVER (PARTITION BY d.tenant, d.session_id, d.call_id, d.target, d.assembly_id ORDER BY d.place, d.place_given)) - 1 AS position,
    d.log_position AS log_position, d.block AS block,
    multiIf(d.layer != '', d.layer, t.item.2 != '', t.item.2, d.item_type = 'function_call', 'tool_calls', d.item_type = 'function_call_output', 'tool_results',
        d.item_type = 'reasoning', 'reasoning', d.role) AS layer,
    d.role AS role, d.item_type AS item_type, d.name AS name, t.item.1 AS title, d.item_refs AS item_refs,
    if(d.origin = 'log' AND d.pass.2, d.pass.5[d.at], d.tokens) AS tokens,
    if(d.pass.2, coalesce(d.pass.7[d.at], if(d.origin = 'log', d.tokens, t.item.3)), d.tokens) AS tokens_full,
    d.digest AS digest, if(d.redaction_state = '', t.item.4, d.redaction_state) AS redaction_state, toBool(d.pass.2) AS elided, if(d.pass.2, d.pass.6, '') AS elided_by
FROM (SELECT * FROM described WHERE origin = 'assembly' OR assembled = 0) AS d
LEFT JOIN titles AS t ON d.tenant = t.tenant AND d.session_id = t.session_id AND d.item_refs[1] = t.item_id
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- cache_breaks: one row a model call that has a predecessor in its lineage: what
-- of its window was computed again, and why.
--   HEAD, thread_order, lineage_id, call_id, model, previous_call_id, previous_model
--   window_tokens, previous_window_tokens, cache_read, cache_written: tokens, billed
--   recomputed_billed: tokens of the window that were not read from the cache
--   reusable_tokens: tokens that the predecessor left in the cache
--   lost_tokens: tokens of those that were not read again
--   recomputed_expected: tokens behind the longest common prefix with the
--   predecessor's assembly, by our estimator; NULL without both assemblies
--   new_tokens: tokens of them that are new, stubs not included; penalty_tokens: the rest
--   gap_seconds, cache_lifetime_seconds (as recorded, or as the bucket says that
--   the predecessor wrote to; NULL when neither is known)
--   cause: idle (beyond the lifetime), model_switch, system_change, tools_change,
--   compaction, elision, append; the first that holds, in this order. append is
--   how a window grows, and no break unless lost_tokens says so
--   cost (in currency, of the call), currency
CREATE OR REPLACE VIEW cache_breaks AS
WITH
cut AS
(
    SELECT tenant, session_id, source_thread_id AS thread_id, groupArray(thread_order) AS compacted_at
    FROM compactions WHERE change = 'completed' GROUP BY tenant, session_id, thread_id
),
shortened AS
(
    SELECT tenant, session_id, thread_id, groupArray(thread_order) AS elided_at
    FROM elisions GROUP BY tenant, session_id, thread_id
),
assembled AS
(
    SELECT tenant, session_id, call_id,
        argMax((arrayMap((d, i, b) -> multiIf(d != '', d, notEmpty(i), arrayStringConcat(i, ' '), b), block_digests, block_items, blocks), block_tokens, block_items), thread_order) AS window
    FROM assemblies WHERE call_id != '' GROUP BY tenant, session_id, call_id
),
calls_with_blocks AS
(
    SELECT c.*, a.window AS window
    FROM (SELECT * FROM model_calls WHERE NOT synthetic) AS c
    LEFT JOIN assembled AS a ON c.tenant = a.tenant AND c.session_id = a.session_id AND c.call_id = a.call_id
),
pairs AS
(
    SELECT *,
        lagInFrame(call_id) OVER lineage AS previous_call_id, lagInFrame(model) OVER lineage AS previous_model,
        lagInFrame(window_tokens) OVER lineage AS previous_window_tokens,
        lagInFrame(cache_read) OVER lineage AS previous_read, lagInFrame(cache_written) OVER lineage AS previous_written,
        lagInFrame(system_digest) OVER lineage AS previous_system, lagInFrame(tools_digest) OVER lineage AS previous_tools,
        lagInFrame(thread_order) OVER lineage AS previous_order, lagInFrame(window) OVER lineage AS previous_window,
        coalesce(cache_lifetime_seconds, multiIf(lagInFrame(cache_write_1h) OVER lineage > 0, 3600, lagInFrame(cache_write_5m) OVER lineage > 0, 300, NULL)) AS lifetime,
        row_number() OVER lineage AS number
    FROM calls_with_blocks
    WINDOW lineage AS (PARTITION BY tenant, session_id, thread_id, lineage_id ORDER BY thread_order, stream_seq ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
),
prefixes AS
(
    SELECT *,
        notEmpty(window.1) AND notEmpty(previous_window.1) AS comparable,
        arrayFirstIndex(x -> x = 0, arrayPushBack(arrayMap((k, p) -> k = p, window.1, arrayResize(previous_window.1, length(window.1))), 0)) - 1 AS common,
        arraySlice(window.1, common + 1) AS rest_keys, arraySlice(window.2, common + 1) AS rest_tokens, arraySlice(window.3, common + 1) AS rest_items,
        arrayFlatten(previous_window.3) AS previous_items
    FROM pairs WHERE number > 1
)
SELECT
    incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, sequence,
    tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id,
    tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
    thread_order, lineage_id, call_id, model, previous_call_id, previous_model, window_tokens, previous_window_tokens,
    cache_read, cache_written, recomputed_billed,
    if(previous_read IS NULL AND previous_written IS NULL, NULL, ifNull(previous_read, 0) + ifNull(previous_written, 0)) AS reusable_tokens,
    greatest(reusable_tokens - cache_read, 0) AS lost_tokens,
    if(NOT comparable OR has(rest_tokens, NULL), NULL, arraySum(x -> ifNull(x, 0), rest_tokens)) AS recomputed_expected,
    if(recomputed_expected IS NULL, NULL, arraySum((k, t, i) -> if(has(previous_window.1, k) OR hasAny(previous_items, i), 0, ifNull(t, 0)), rest_keys, rest_tokens, rest_items)) AS new_tokens,
    recomputed_expected - new_tokens AS penalty_tokens, gap_seconds, lifetime AS cache_lifetime_seconds,
    multiIf(
        gap_seconds > lifetime, 'idle',
        model != previous_model, 'model_switch',
        system_digest != previous_system AND system_digest != '' AND previous_system != '', 'system_change',
        tools_digest != previous_tools AND tools_digest != '' AND previous_tools != '', 'tools_change',
        arrayExists(x -> x > previous_order AND x < thread_order, compacted_at), 'compaction',
        arrayExists(x -> x > previous_order AND x < thread_order, elided_at), 'elision',
        'append') AS cause,
    cost, currency
FROM prefixes
LEFT JOIN cut USING (tenant, session_id, thread_id)
LEFT JOIN shortened USING (tenant, session_id, thread_id);

-- compaction_lineage: one row a completed compaction and every compaction whose
-- summary it stands on, itself included: summaries of summaries.
--   tenant, session_id, thread_id, compaction_id, summary_ref
--   generation: 0 is the compaction itself, 1 the one whose summary it replaced, …
--   ancestor_id, ancestor_summary_ref, ancestor_first_position,
--   ancestor_last_position (of the item log), ancestor_tokens_before,
--   ancestor_tokens_after, ancestor_loss_notes, ancestor_time (UTC)
-- A compaction stands on another when its source names the other's summary, or
-- when it is the next of the thread and its source begins behind the other's.
CREATE OR REPLACE VIEW compaction_lineage AS
WITH RECURSIVE
done AS
(
    SELECT tenant, session_id, source_thread_id AS thread_id, thread_order, compaction_id, summary_ref, first_position, last_position,
        tokens_before, tokens_after, loss_notes, event_time, source_item_refs, first_item_ref, last_item_ref,
        row_number() OVER (PARTITION BY tenant, session_id, source_thread_id ORDER BY thread_order, stream_seq) AS number
    FROM compactions WHERE change = 'completed'
),
edges AS
(
    SELECT b.tenant AS tenant, b.session_id AS session_id, b.compaction_id AS child, a.compaction_id AS parent
    FROM done AS b INNER JOIN done AS a ON a.tenant = b.tenant AND a.session_id = b.session_id
    WHERE a.compaction_id != b.compaction_id AND a.thread_order < b.thread_order
        AND (a.summary_ref != '' AND (has(b.source_item_refs, a.summary_ref) OR a.summary_ref IN (b.first_item_ref, b.last_item_ref))
            OR a.thread_id = b.thread_id AND a.number = b.number - 1 AND b.first_position > a.last_position)
),
lineage AS
(
    SELECT tenant, session_id, compaction_id, compaction_id AS ancestor_id, 0 AS generation FROM done
    UNION ALL
    SELECT l.tenant, l.session_id, l.compaction_id, e.parent, l.generation + 1
    FROM lineage AS l INNER JOIN edges AS e ON l.tenant = e.tenant AND l.session_id = e.session_id AND l.ancestor_id = e.child
    WHERE l.generation < 100
)
SELECT DISTINCT
    l.tenant AS tenant, l.session_id AS session_id, d.thread_id AS thread_id, l.compaction_id AS compaction_id, d.summary_ref AS summary_ref,
    l.generation AS generation, l.ancestor_id AS ancestor_id, a.summary_ref AS ancestor_summary_ref,
    a.first_position AS ancestor_first_position, a.last_position AS ancestor_last_position,
    a.tokens_before AS ancestor_tokens_before, a.tokens_after AS ancestor_tokens_after, a.loss_notes AS ancestor_loss_notes,
    a.event_time AS ancestor_time
FROM lineage AS l
INNER JOIN done AS d ON d.tenant = l.tenant AND d.session_id = l.session_id AND d.compaction_id = l.compaction_id
INNER JOIN done AS a ON a.tenant = l.tenant AND a.session_id = l.session_id AND a.compaction_id = l.ancestor_id;

-- gaps: one row a gap, as its last step left it. A detail that a later step did
-- not repeat is the last one that was given.
--   tenant, missing_id, the correlation ids of its first step, call_id
--   status (open, requested, waiting, resolved, declined, blocked, expired), is_open
--   question, needed_for, severity, owner, requested_action, user_summary,
--   blocked_actions, candidate_item_refs, resolution_refs
--   detected_at, changed_at (first and last step, UTC), steps
CREATE OR REPLACE VIEW gaps AS
SELECT
    tenant, missing_id, argMin(agent, at) AS agent, argMin(resource_id, at) AS resource_id, argMin(runtime_id, at) AS runtime_id,
    argMin(session_id, at) AS session_id, argMin(thread_id, at) AS thread_id, argMin(turn_id, at) AS turn_id,
    argMin(task_id, at) AS task_id, argMin(run_id, at) AS run_id, argMin(attempt_id, at) AS attempt_id,
    argMin(step_id, at) AS step_id, argMin(tool_call_id, at) AS tool_call_id, argMin(action_id, at) AS action_id,
    argMin(evidence_id, at) AS evidence_id, argMin(context_id, at) AS context_id,
    argMin(parent_run_id, at) AS parent_run_id, argMin(root_run_id, at) AS root_run_id, argMin(call_id, at) AS call_id,
    argMax(status, at) AS status, toBool(status NOT IN ('resolved', 'declined', 'expired')) AS is_open,
    argMaxIf(question, at, question != '') AS question, argMaxIf(needed_for, at, needed_for != '') AS needed_for,
    argMaxIf(severity, at, severity != '') AS severity, argMaxIf(requested_from, at, requested_from != '') AS owner,
    argMaxIf(requested_action, at, requested_action != '') AS requested_action,
    argMaxIf(user_summary, at, user_summary != '') AS user_summary,
    argMaxIf(blocked_actions, at, notEmpty(blocked_actions)) AS blocked_actions,
    argMaxIf(candidate_item_refs, at, notEmpty(candidate_item_refs)) AS candidate_item_refs,
    argMaxIf(resolution_refs, at, notEmpty(resolution_refs)) AS resolution_refs,
    min(event_time) AS detected_at, max(event_time) AS changed_at, count() AS steps
FROM (SELECT *, (recorded_at, stream_seq) AS at FROM gap_steps)
GROUP BY tenant, missing_id;

-- open_gaps: the gaps that are not resolved, declined or expired: the columns of gaps.
CREATE OR REPLACE VIEW open_gaps AS
SELECT * FROM gaps WHERE is_open;

-- run_tree: one row a run, with what it used itself and what it and all runs below
-- it used: every call counts once in each of its ancestors. A run that only calls
-- name is in it too.
--   tenant, session_id, root_run_id, run_id, parent_run_id, agent, thread_id,
--   scope_kind, opened_at (UTC; NULL when no scope was recorded), depth (0 is a root),
--   path (run ids from the root), calls, total_calls
--   window_tokens, output_tokens, cost: of the run; total_window_tokens,
--   total_output_tokens, total_cost: with all runs below it
CREATE OR REPLACE VIEW run_tree AS
WITH
facts AS
(
    SELECT tenant, session_id, run_id, toString(parent_run_id) AS parent, toString(root_run_id) AS root, toString(agent) AS who, toString(thread_id) AS thread,
        '' AS kind, CAST(NULL, 'Nullable(DateTime64(9, \'UTC\'))') AS at, 1 AS n, window_tokens AS w, output AS o, cost AS k
    FROM model_calls WHERE run_id != ''
    UNION ALL
    SELECT tenant, session_id, if(record_id = '', run_id, record_id), parent_run_id, root_run_id, agent, thread_id, scope_kind, event_time, 0, NULL, NULL, NULL
    FROM scope_records WHERE record_kind = 'run'
),
sessions AS
(
    SELECT tenant, session_id, groupArray((run_id, run)) AS runs, mapFromArrays(groupArray(run_id), groupArray(run.1)) AS parents
    FROM
    (
        SELECT tenant, session_id, run_id, (anyIf(parent, parent != ''), anyIf(root, root != ''), anyIf(who, who != ''), anyIf(thread, thread != ''),
            anyIf(kind, kind != ''), min(at), sum(n), sum(w), sum(o), sum(k)) AS run
        FROM facts GROUP BY tenant, session_id, run_id
    )
    GROUP BY tenant, session_id
),
paths AS
(
    SELECT tenant, session_id, r.1 AS id, r.2 AS run,
        arrayFold((above, i) -> if(parents[above[1]] = '' OR NOT mapContains(parents, parents[above[1]]) OR has(above, parents[above[1]]), above, arrayPushFront(above, parents[above[1]])),
            range(least(length(runs), 256)), [r.1]) AS path
    FROM sessions ARRAY JOIN runs AS r
)
SELECT
    tenant, session_id, if(r.2 = '', way[1], r.2) AS root_run_id, run_id, r.1 AS parent_run_id, r.3 AS agent, r.4 AS thread_id, r.5 AS scope_kind,
    r.6 AS opened_at, toInt64(length(way)) - 1 AS depth, way AS path, r.7 AS calls, total_calls, r.8 AS window_tokens, r.9 AS output_tokens, r.10 AS cost,
    total_window_tokens, total_output_tokens, total_cost
FROM
(
    SELECT tenant, session_id, ancestor AS run_id, anyIf(run, id = ancestor) AS r, anyIf(path, id = ancestor) AS way, sum(run.7) AS total_calls,
        sum(run.8) AS total_window_tokens, sum(run.9) AS total_output_tokens, sum(run.10) AS total_cost
    FROM paths ARRAY JOIN path AS ancestor
    GROUP BY tenant, session_id, ancestor
);

-- session_summary: one row a session.
--   tenant, session_id, agents, models, started_at, ended_at (first and last fact,
--   UTC), events, turns, runs, threads
--   calls, uncached_input, cache_read, cache_written, output: tokens, billed
--   cost (of the calls whose cost is known), currencies, max_window_tokens
--   items, log_entries, selections, injections, compactions (completed), elisions,
--   summaries, redactions, gaps (detected), facts_dropped (events that say so)
CREATE OR REPLACE VIEW session_summary AS
SELECT
    tenant, session_id, groupUniqArrayIf(agent, agent != '') AS agents, groupUniqArrayIf(model, model != '') AS models,
    min(at) AS started_at, max(at) AS ended_at, countIf(kind != '') AS events,
    uniqExactIf(turn_id, turn_id != '') AS turns, uniqExactIf(run_id, run_id != '') AS runs, uniqExactIf(thread_id, thread_id != '') AS threads,
    countIf(kind = '') AS calls, sum(call.1) AS uncached_input, sum(call.2) AS cache_read, sum(call.3) AS cache_written,
    sum(call.4) AS output, sum(call.5) AS cost, groupUniqArrayIf(currency, currency != '') AS currencies, max(call.6) AS max_window_tokens,
    uniqExactIf(subject, kind IN ('context.item.added', 'context.item.updated')) AS items,
    countIf(kind = 'context.log.appended') AS log_entries, uniqExactIf(subject, kind = 'context.selection.completed') AS selections,
    uniqExactIf(subject, kind = 'context.injection.applied') AS injections, uniqExactIf(subject, kind = 'context.compaction.completed') AS compactions,
    uniqExactIf(subject, kind = 'context.elision.applied') AS elisions, uniqExactIf(subject, kind = 'context.summary.created') AS summaries,
    uniqExactIf(subject, kind = 'context.redaction.applied') AS redactions, uniqExactIf(subject, kind = 'context.missing.detected') AS gaps,
    countIf(kind = 'context.facts.dropped') AS facts_dropped
FROM
(
    SELECT tenant, session_id, toString(agent) AS agent, '' AS model, event_time AS at, toString(event_type) AS kind, turn_id, run_id, thread_id, subject,
        CAST((NULL, NULL, NULL, NULL, NULL, NULL), 'Tuple(Nullable(Int64), Nullable(Int64), Nullable(Int64), Nullable(Int64), Nullable(Float64), Nullable(Int64))') AS call,
        '' AS currency
    FROM recorded_events
    UNION ALL
    SELECT tenant, session_id, toString(agent), toString(model), event_time, '', turn_id, run_id, thread_id, '',
        (uncached_input, cache_read, cache_written, output, cost, window_tokens), toString(currency)
    FROM model_calls
)
GROUP BY tenant, session_id;
