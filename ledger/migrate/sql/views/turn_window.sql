-- One row a block that the model saw, in order, for every call.
--
-- Items that an erasure took are shown as expired. The facts of a call have the turn of the call. The
-- windows are therefore computed per turn, and a query of one turn reads the calls of that turn.
--
-- An elision pass is found by the item or the tool call that it names. Only blocks of several items look at
-- all passes of the thread: a copy of those in each row of a long session takes gigabytes. The log is joined
-- in stretches of 64 entries for the same reason. Calls with an assembly are left out before that. A window
-- function would sort all blocks of a tenant for it.
--
-- Needs: erased_records, items, kept_blocks, log_items, model_calls, placements, replacements, retold.
--
--   recorded_at      DateTime64(9, 'UTC')    time
--   event_time       DateTime64(9, 'UTC')    time
--   tenant           LowCardinality(String)  id
--   agent            LowCardinality(String)  text
--   resource_id      String                  id
--   runtime_id       LowCardinality(String)  id
--   session_id       String                  id
--   thread_id        String                  id
--   turn_id          String                  id
--   task_id          String                  id
--   run_id           String                  id
--   attempt_id       String                  id
--   step_id          String                  id
--   tool_call_id     String                  id
--   action_id        String                  id
--   evidence_id      String                  id
--   context_id       String                  id
--   parent_run_id    String                  id
--   root_run_id      String                  id
--   thread_order     Int64                   sequence
--   call_id          String                  id
--   target           String                  text
--   origin           String                  text
--   assembly_id      String                  id
--   injected         Nullable(Bool)          bool
--   position         Int64                   count   place in the window; 0 is first
--   log_position     Nullable(Int64)         position
--   block            String                  text
--   layer            String                  text
--   role             String                  text
--   item_type        String                  text
--   name             String                  text
--   title            String                  text
--   item_refs        Array(String)           id
--   tokens           Nullable(Int64)         tokens
--       as the model saw it; NULL where that is not known, such as for a stub
--   tokens_full      Nullable(Int64)         tokens
--   digest           String                  text    keyed digest of the block
--   redaction_state  String                  text
--   elided           Bool                    bool
--   elided_by        String                  id
--   fidelity         String                  text
--   coverage         String                  text
--   coverage_reasons  Array(String)          text
CREATE OR REPLACE VIEW turn_window AS
WITH
passes AS
(
    SELECT *, ifNull(sequence, toInt64(stream_seq)) AS at, change = 'applied' AS applied
    FROM replacements FINAL
    WHERE record_kind = 'elision'
        AND (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
),
item_passes AS
(
    SELECT
        tenant, session_id, thread_id, e.1 AS reference,
        groupArray((at, applied, toUInt8(1), record_id, e.3, e.4, attempt_id)) AS by_item
    FROM passes
    ARRAY JOIN arrayZip(elided_refs, arrayEnumerateUniq(elided_refs), elided_after, elided_before) AS e
    WHERE e.2 = 1
    GROUP BY tenant, session_id, thread_id, reference
),
tool_passes AS
(
    SELECT
        tenant, session_id, thread_id, e.1 AS tool_call_id,
        groupArray((at, applied, toUInt8(0), record_id, e.3, e.4, attempt_id)) AS by_tool
    FROM passes
    ARRAY JOIN
        arrayZip(elided_tool_call_ids, arrayEnumerateUniq(elided_tool_call_ids), elided_after, elided_before) AS e
    WHERE e.1 != '' AND e.2 = 1
    GROUP BY tenant, session_id, thread_id, tool_call_id
),
thread_passes AS
(
    SELECT
        tenant, session_id, thread_id, toUInt8(1) AS several,
        groupArray((at, applied, elided_refs, record_id, elided_after, elided_before, attempt_id)) AS by_thread
    FROM passes
    GROUP BY tenant, session_id, thread_id
),
thread_ranges AS
(
    SELECT
        tenant, session_id, if(source_thread_id != '', source_thread_id, thread_id) AS thread_id,
        groupArray(
            (
                ifNull(sequence, toInt64(stream_seq)), ifNull(first_position, -1), ifNull(last_position, -1),
                retained_tail_refs, attempt_id)) AS ranges
    FROM replacements FINAL
    WHERE record_kind = 'compaction'
        AND change = 'completed'
        AND (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
    GROUP BY tenant, session_id, thread_id
),
logged AS
(
    SELECT
        * EXCEPT (ranges), if(item_ref = '', log_item_id, item_ref) AS reference, intDiv(position, 64) AS stretch,
        arrayFilter(x -> NOT has(x.4, reference), arrayFilter(x -> position BETWEEN x.2 AND x.3, ranges)) AS covering,
        arrayMap(
            a -> (arrayMin(arrayMap(x -> x.1, arrayFilter(x -> x.5 = a, covering))), a),
            arrayDistinct(covering.5)) AS replaced
    FROM
    (
        SELECT
            *, groupUniqArray(attempt_id) OVER (PARTITION BY tenant, session_id, thread_id, position) AS attempts
        FROM log_items FINAL
        WHERE (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
    ) AS l
    LEFT JOIN thread_ranges USING (tenant, session_id, thread_id)
),
titles AS
(
    SELECT
        tenant, session_id, item_id,
        argMax((title, toString(layer), token_estimate, toString(redaction_state)), at) AS item
    FROM
    (
        SELECT
            tenant, session_id, item_id, title, layer, token_estimate, redaction_state,
            ifNull(sequence, toInt64(stream_seq)) AS at
        FROM items FINAL
        WHERE change != 'removed'
            AND (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
        UNION ALL
        SELECT tenant, erased_session_id, erased_item_id, '', '', NULL, 'expired', -1
        FROM erased_records
        WHERE erased_item_id != ''
    )
    GROUP BY tenant, session_id, item_id
),
placed AS
(
    SELECT
        *, countIf(record_kind = 'injection') OVER (PARTITION BY tenant, session_id, attempt_id, assembly_id) AS shown,
        first_value(assembly_id) OVER (
            PARTITION BY
                tenant, session_id, attempt_id, call_id, target, tool_call_id, record_kind,
                if(call_id = '', assembly_id, '')
            ORDER BY ifNull(sequence, toInt64(stream_seq)) DESC) AS latest,
        row_number() OVER (
            PARTITION BY tenant, session_id, attempt_id, assembly_id, record_kind, JSONExtractUInt(metadata, 'part')
            ORDER BY ifNull(sequence, toInt64(stream_seq)) DESC) AS version,
        multiIf(
            fidelity != '', toString(fidelity), startsWith(source, 'urn:ctxledger:import:'), 'reconstructed', 'stated'
        ) AS known_as,
        if(startsWith(source, 'urn:ctxledger:import:'), toString(source), '') AS teller
    FROM placements FINAL
    WHERE assembly_id != '' AND (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
),
seen AS
(
    SELECT
        recorded_at, event_time, tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id,
        run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id,
        ifNull(sequence, toInt64(stream_seq)) AS thread_order, call_id, toString(target) AS target,
        'assembly' AS origin, assembly_id, CAST(shown > 0, 'Nullable(Bool)') AS injected,
        coalesce(b.3, keep + toInt64(b.9) - 1, 1000000000) AS place, b.9 AS place_given,
        CAST(NULL, 'Nullable(Int64)') AS log_position,
        b.1 AS block, toString(b.4) AS layer, toString(b.5) AS role, '' AS item_type, '' AS name, b.2 AS item_refs,
        b.6 AS tokens, b.7 AS digest, toString(b.8) AS redaction_state, known_as, toString(coverage) AS coverage,
        coverage_reasons, base_assembly_id != '' AND length(kept_names) != ifNull(keep, -1) AS lacking
    FROM placed
    LEFT JOIN kept_blocks USING (tenant, session_id, attempt_id, teller, assembly_id)
    ARRAY JOIN arrayConcat(
        if(
            JSONExtractUInt(metadata, 'part') > 1, [],
            arrayZip(
                kept_names, kept_items, kept_positions::Array(Nullable(Int64)), kept_layers, kept_roles, kept_tokens,
                kept_digests, kept_redactions, arrayEnumerate(kept_names))),
        arrayZip(
            blocks, block_items, block_positions, block_layers, block_roles, block_tokens, block_digests,
            block_redactions, arrayEnumerate(blocks))) AS b
    WHERE record_kind = 'assembly' AND assembly_id = latest AND version = 1
    UNION ALL
    SELECT
        c.recorded_at, c.event_time, c.tenant, c.agent, c.resource_id, c.runtime_id, c.session_id, c.thread_id,
        c.turn_id, c.task_id, c.run_id, c.attempt_id, c.step_id, l.tool_call_id, c.action_id, c.evidence_id,
        c.context_id, c.parent_run_id, c.root_run_id, c.thread_order, c.call_id, '', 'log', '', NULL,
        ifNull(l.position, 0), 0, l.position, l.log_item_id, '', toString(l.role), toString(l.item_type),
        toString(l.name), [l.reference], l.tokens, l.content_digest, '', c.fidelity,
        c.coverage, c.coverage_reasons, false
    FROM model_calls AS c
    INNER JOIN
    (
        SELECT DISTINCT tenant, session_id, thread_id, intDiv(position, 64) AS stretch
        FROM log_items
    ) AS s
        ON s.tenant = c.tenant AND s.session_id = c.session_id AND s.thread_id = c.thread_id
    INNER JOIN logged AS l
        ON l.tenant = c.tenant
            AND l.session_id = c.session_id
            AND l.thread_id = c.thread_id
            AND l.stretch = s.stretch
    LEFT JOIN
    (
        SELECT DISTINCT tenant, session_id, turn_id, attempt_id, call_id, toBool(1) AS assembled
        FROM placed
        LEFT JOIN kept_blocks USING (tenant, session_id, attempt_id, teller, assembly_id)
        WHERE record_kind = 'assembly'
            AND assembly_id = latest
            AND version = 1
            AND (notEmpty(blocks) OR JSONExtractUInt(metadata, 'part') <= 1 AND notEmpty(kept_names))
    ) AS a
        ON a.tenant = c.tenant
            AND a.session_id = c.session_id
            AND a.turn_id = c.turn_id
            AND a.attempt_id = c.attempt_id
            AND a.call_id = c.call_id
    WHERE NOT a.assembled
        AND s.stretch BETWEEN intDiv(c.window_first, 64) AND intDiv(c.window_next, 64)
        AND l.position >= c.window_first
        AND l.position < c.window_next
        AND (l.attempt_id = c.attempt_id OR NOT has(l.attempts, c.attempt_id))
        AND NOT arrayExists(r -> r.1 < c.thread_order AND r.2 IN ('', c.attempt_id), l.replaced)
),
cut AS
(
    SELECT
        * EXCEPT (reference, several, by_item, by_tool, by_thread),
        arraySort(
            arrayFilter(
                p -> p.1 < thread_order AND p.7 IN ('', attempt_id),
                arrayConcat(
                    by_item, if(item_type = 'function_call_output', by_tool, []),
                    arrayMap(
                        p -> (
                            p.1, p.2, toUInt8(has(p.3, reference)), p.4, p.5[indexOf(p.3, reference)],
                            p.6[indexOf(p.3, reference)], p.7),
                        arrayFilter(p -> hasAny(p.3, item_refs), by_thread)))))[-1] AS pass
    FROM (SELECT *, item_refs[1] AS reference, toUInt8(length(item_refs) > 1) AS several FROM seen) AS s
    LEFT JOIN item_passes USING (tenant, session_id, thread_id, reference)
    LEFT JOIN tool_passes USING (tenant, session_id, thread_id, tool_call_id)
    LEFT JOIN thread_passes USING (tenant, session_id, thread_id, several)
)
SELECT
    d.recorded_at AS recorded_at, d.event_time AS event_time, d.tenant AS tenant, d.agent AS agent,
    d.resource_id AS resource_id, d.runtime_id AS runtime_id, d.session_id AS session_id, d.thread_id AS thread_id,
    d.turn_id AS turn_id, d.task_id AS task_id, d.run_id AS run_id, d.attempt_id AS attempt_id, d.step_id AS step_id,
    d.tool_call_id AS tool_call_id, d.action_id AS action_id,
    d.evidence_id AS evidence_id, d.context_id AS context_id, d.parent_run_id AS parent_run_id,
    d.root_run_id AS root_run_id, d.thread_order AS thread_order, d.call_id AS call_id, d.target AS target,
    d.origin AS origin, d.assembly_id AS assembly_id, d.injected AS injected,
    toInt64(
        row_number() OVER (
            PARTITION BY d.tenant, d.session_id, d.turn_id, d.attempt_id, d.call_id, d.target, d.assembly_id
            ORDER BY d.place, d.place_given)) - 1 AS position,
    d.log_position AS log_position, d.block AS block,
    multiIf(
        d.layer != '', d.layer, t.item.2 != '', t.item.2, d.item_type = 'function_call', 'tool_calls',
        d.item_type = 'function_call_output', 'tool_results',
        d.item_type = 'reasoning', 'reasoning', d.role) AS layer,
    d.role AS role, d.item_type AS item_type, d.name AS name, t.item.1 AS title, d.item_refs AS item_refs,
    if(d.origin = 'log' AND d.pass.2, d.pass.5, d.tokens) AS tokens,
    if(d.pass.2, coalesce(d.pass.6, if(d.origin = 'log', d.tokens, t.item.3)), d.tokens) AS tokens_full,
    d.digest AS digest, if(d.redaction_state = '', t.item.4, d.redaction_state) AS redaction_state,
    toBool(d.pass.2) AS elided, if(d.pass.2, d.pass.4, '') AS elided_by, d.known_as AS fidelity,
    if(d.lacking, 'partial', d.coverage) AS coverage,
    arrayMap(
        r -> toString(r),
        arrayDistinct(if(d.lacking, arrayPushBack(d.coverage_reasons, 'base_missing'), d.coverage_reasons))
    ) AS coverage_reasons
FROM cut AS d
LEFT JOIN titles AS t ON d.tenant = t.tenant AND d.session_id = t.session_id AND d.item_refs[1] = t.item_id
SETTINGS do_not_merge_across_partitions_select_final = 1;
