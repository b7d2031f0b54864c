-- What did the model see in a turn, in order?
-- Section: What did the model see?
--
-- The rows are the blocks that the runtime assembled for the call. If the runtime recorded no assembly, the
-- rows are the part of the item log that the call's window was built from. Entries that a summary had
-- already replaced are left out.
-- The query reads the tables themselves, each once by its key. The server would need more time to plan the
-- view turn_window. Each step of the chosen call is a subquery of its own, because the server plans an
-- expression once for each use.
--
-- Parameters:
--   tenant      String  id    = ''      only this tenant; '' means all tenants
--   session_id  String  id    required  the session
--   turn_id     String  id    required  the turn
--   call_id     String  id    = ''      the model call; '' means the last call of the turn
--   attempt_id  String  id    = ''      the attempt; '' means the last attempt with the call
--   as_of       String  time  = ''      state that the ledger knew at this stream time; '' means the current state
-- Columns:
--   call_id          id      the model call; empty for an assembly that names none
--   position         count   place in the window; 0 is first
--   layer            text    layer of this part of the window
--   role             text    role of the message
--   item_type        text    kind of log entry; empty for a block of an assembly
--   name             text    name of the called function
--   title            text    title of the item
--   tokens           tokens  tokens as the model saw them; NULL if not known
--   tokens_full      tokens  tokens before any elision; NULL if not known
--   elided           bool    whether a stub replaces the content
--   elided_by        id      the elision pass
--   redaction_state  text    degree to which content is withheld
--   item_refs        id      the items
--   tool_call_id     id      the tool call
--   origin           text    source of the row: assembly (recorded by the runtime) or log (built from the item log)
--   injected         bool    whether the assembly was made visible to its target; NULL for log
--   assembly_id      id      the assembly
--   target           text    the assembly's target
--   is_new           bool    whether the previous call of the lineage lacked it; NULL without a known previous window
--   elided_level     text    level of the elision: trivial, simple, offloaded, summarized, hybrid
--   reload_ref       id      location of the full content of an elided item
--   digest           text    keyed digest of the block, if the runtime gave one
--   block            text    name of the block, or id of the log entry
--   thread_id        id      the thread
--   previous_turn_id  id      turn of the previous call of the lineage; empty without a known previous call
--   previous_call_id  id      the previous call of the lineage
--   persona          text    the persona that an item of the block sets; empty for none
--   fidelity         text    how the window is known: wire, serialized, stated, reported or reconstructed
--   coverage         text    whether it has all that the model received: complete or partial; empty if unknown
--   coverage_reasons  text   why the coverage is partial; base_missing if blocks of a base are not in the ledger
WITH
-- Sources of logs that another source tells better, and records of calls that another slice of the log tells.
untold AS
(
    SELECT tenant, source
    FROM retold
    WHERE session_id = {session_id:String}
        AND ({as_of:String} = '' OR since <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
),
stated AS
(
    SELECT
        tenant, turn_id, thread_id, attempt_id, call_id, ifNull(sequence, toInt64(stream_seq)) AS place, lineage_id,
        window_first, window_next, '' AS target, '' AS assembly_id, '' AS base, 0 AS keep,
        (toString(source), toString(fidelity), toString(coverage), arrayMap(r -> toString(r), coverage_reasons))
            AS known
    FROM calls
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
        AND NOT JSONExtractBool(metadata, 'synthetic')
        AND (
            call_id = {call_id:String} OR (tenant, concat(toString(source), '#', call_id)) NOT IN (untold))
        AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
    ORDER BY
        (tenant, concat(toString(source), '#', call_id)) IN (untold),
        multiIf(
            fidelity = 'wire', 1, fidelity = 'serialized', 2, fidelity = 'stated', 3, fidelity = 'reported', 4,
            fidelity = 'reconstructed' OR startsWith(source, 'urn:ctxledger:import:'), 5, fidelity = '', 3, 6),
        (tenant, source) IN (untold), output DESC NULLS LAST, recorded_at, stream_seq
    LIMIT 1 BY tenant, attempt_id, call_id
    UNION ALL
    SELECT
        tenant, turn_id, thread_id, attempt_id, call_id, ifNull(sequence, toInt64(stream_seq)), '', NULL, NULL,
        concat(target, ' ', tool_call_id), assembly_id, base_assembly_id, ifNull(keep, 0), ('', '', '', [])
    FROM placements
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
        AND record_kind = 'assembly'
        AND assembly_id != ''
        AND (tenant, source) NOT IN (untold)
        AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
),
told AS
(
    SELECT
        tenant AS owner, attempt_id AS attempt, any(call_id) AS call, argMax(turn_id, assembly_id != '') AS turn,
        argMax(thread_id, assembly_id != '') AS thread, max(place) AS at,
        max(lineage_id) AS lineage, max(window_first) AS begin, max(window_next) AS end,
        groupArrayIf((toString(target), assembly_id, place), assembly_id != '') AS made,
        groupArrayIf((assembly_id, base, toInt64(keep), place, attempt_id), base != '') AS based,
        anyIf(known, assembly_id = '') AS said
    FROM stated
    GROUP BY owner, attempt, if(call_id = '', assembly_id, call_id), call_id = ''
),
-- The given call, and the previous call of its lineage. Then the members of their assemblies: the assembly, the
-- assembly that holds blocks of its window, and the first position that it does not hold. The last is the own one.
(
    SELECT (
        c, p,
        arrayMap(
            x -> arrayFlatten(
                arrayMap(
                    a -> arrayFold(
                        (found, step) -> if(
                            length(found) < step,
                            found,
                            arrayConcat(
                                found,
                                arrayMap(
                                    l -> (a, l.2, least(l.3, found[-1].3)),
                                    arraySlice(arrayFilter(l -> l.1 = found[-1].2 AND l.5 = x.10, links), -1)))),
                        range(1, 64),
                        [(a, a, toInt64(1000000001))]),
                    x.9)),
            [c, p]))
    FROM
    (
        SELECT c, links, arrayLast(x -> x.1 < c.1 AND x.2 = c.2 AND x.4 = c.4 AND x.6 = c.6, list) AS p
        FROM
        (
            SELECT
                list, links,
                arrayLast(
                    x -> x.3 = {turn_id:String} AND {call_id:String} IN ('', x.5) AND {attempt_id:String} IN ('', x.10),
                    list) AS c
            FROM
            (
                SELECT arraySort(
                    groupArray(
                        (
                            at, owner, turn, thread, call, if(lineage = '', thread, lineage), begin, end,
                            arrayDistinct(
                                arrayMap(
                                    a -> a.2,
                                    arrayFilter(a -> NOT arrayExists(b -> b.1 = a.1 AND b.3 > a.3, made), made))),
                            attempt, said))
                ) AS list,
                arraySort(l -> l.4, groupArrayArray(based)) AS links
                FROM told
            )
        )
    )
) AS chosen,
-- The elisions of the thread, and the ranges of its item log that summaries had replaced.
(
    SELECT (
        arraySort(
            groupArrayIf(
                (
                    ifNull(sequence, toInt64(stream_seq)) AS at, change = 'applied', elided_refs, elided_tool_call_ids,
                    elided_after, elided_before, record_id, toString(level),
                    arrayMap(x -> toString(x), elided_levels), elided_reload_refs),
                record_kind = 'elision')),
        groupArrayIf(
            (at, ifNull(first_position, -1), ifNull(last_position, -1), retained_tail_refs), record_kind = 'compaction')
    )
    FROM replacements
    WHERE tenant = chosen.1.2
        AND session_id = {session_id:String}
        AND (record_kind = 'elision' OR record_kind = 'compaction' AND change = 'completed')
        AND if(record_kind = 'compaction' AND source_thread_id != '', source_thread_id, thread_id) = chosen.1.4
        AND attempt_id IN ('', chosen.1.10)
        AND (tenant, source) NOT IN (untold)
        AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
) AS cuts,
-- The blocks of the previous assembly. Its digest identifies a block, or else its items, or else its name.
-- The CTE also has the visible assemblies and the items of personas. They are from before the end of the
-- call, or from an injection for the call or its assembly.
(
    SELECT (
        groupArrayArrayIf(
            arrayMap(
                (d, i, b) -> multiIf(d != '', d, notEmpty(i), arrayStringConcat(i, ' '), b),
                arrayFilter((d, held) -> held, block_digests, held_before),
                arrayFilter((i, held) -> held, block_items, held_before),
                arrayFilter((b, held) -> held, blocks, held_before)),
            record_kind = 'assembly'),
        groupArrayArrayIf(
            arrayFlatten(arrayFilter((i, held) -> held, block_items, held_before)), record_kind = 'assembly'),
        groupUniqArrayIf(assembly_id, record_kind = 'injection' AND attempt_id = chosen.1.10),
        arraySort(
            groupArrayIf(
                (ifNull(sequence, toInt64(stream_seq)) AS at, persona_to, item_refs),
                record_kind = 'injection'
                    AND persona_to != ''
                    AND injection_kind != 'persona_cue'
                    AND thread_id = chosen.1.4
                    AND attempt_id IN ('', chosen.1.10)
                    AND (
                        at <= chosen.1.1 OR call_id != '' AND call_id = chosen.1.5 OR has(chosen.1.9, assembly_id)))))
    FROM
    (
        SELECT
            *,
            arrayMax(arrayMap(m -> if(m.2 = assembly_id, m.3, 0), chosen.3[2])) AS until,
            arrayMap(
                (place, n) -> ifNull(place, ifNull(keep, 0) + toInt64(n) - 1) < until, block_positions,
                arrayEnumerate(block_positions)) AS held_before
        FROM placements
        WHERE tenant = chosen.1.2
            AND session_id = {session_id:String}
            AND (
                record_kind = 'assembly'
                    AND attempt_id = chosen.2.10
                    AND has(arrayMap(m -> m.2, chosen.3[2]), assembly_id)
                    OR record_kind = 'injection' AND attempt_id = chosen.1.10 AND has(chosen.1.9, assembly_id)
                    OR record_kind = 'injection' AND persona_to != '' AND thread_id = chosen.1.4)
            AND (tenant, source) NOT IN (untold)
            AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
    )
) AS before,
seen AS
(
    SELECT
        of.1 AS call, if(own, place_in_thread, of.2) AS order_in_thread, of.3 AS target,
        'assembly' AS origin, made AS assembly, b.3 AS place, b.9 AS place_given, 0 AS log_position,
        multiIf(b.7 != '', b.7, notEmpty(b.2), arrayStringConcat(b.2, ' '), b.1) AS key,
        b.1 AS block, toString(b.4) AS layer, toString(b.5) AS role, '' AS item_type, '' AS name, b.2 AS items,
        b.6 AS tokens, b.7 AS digest, toString(b.8) AS redaction, of.4 AS tool_call, of.5 AS known, lacking
    FROM
    (
        SELECT
            *,
            argMax((call_id, place_in_thread, toString(target), tool_call_id, known, keep, base), until) OVER w AS of,
            of.7 != '' AND sum(if(own, 0, length(held))) OVER w != ifNull(of.6, -1) AS lacking
        FROM
        (
            SELECT
                *, m.1 AS made, m.3 AS until, m.1 = m.2 AND m.3 > 1000000000 AS own,
                arrayFilter(
                    b -> b.3 < until,
                    arrayZip(
                        blocks, block_items,
                        arrayMap(
                            (place, n) -> coalesce(
                                place, if(own AND base = '', 1000000000, ifNull(keep, 0) + toInt64(n) - 1)),
                            block_positions, arrayEnumerate(blocks)),
                        block_layers, block_roles, block_tokens, block_digests, block_redactions,
                        arrayEnumerate(blocks))) AS held
            FROM
            (
                SELECT
                    call_id, ifNull(sequence, toInt64(stream_seq)) AS place_in_thread, target, assembly_id,
                    base_assembly_id AS base, keep, blocks, block_items, block_positions, block_layers, block_roles,
                    block_tokens, block_digests, block_redactions, tool_call_id, metadata,
                    (
                        toString(source), toString(fidelity), toString(coverage),
                        arrayMap(r -> toString(r), coverage_reasons)) AS known
                FROM placements
                WHERE tenant = chosen.1.2
                    AND session_id = {session_id:String}
                    AND record_kind = 'assembly'
                    AND attempt_id = chosen.1.10
                    AND has(arrayMap(m -> m.2, chosen.3[1]), assembly_id)
                    AND (tenant, source) NOT IN (untold)
                    AND (
                        {as_of:String} = ''
                            OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
                ORDER BY ifNull(sequence, toInt64(stream_seq)) DESC
                LIMIT 1 BY assembly_id, JSONExtractUInt(metadata, 'part')
            )
            ARRAY JOIN arrayFilter(m -> m.2 = assembly_id, chosen.3[1]) AS m
        )
        WINDOW w AS (PARTITION BY made)
    )
    ARRAY JOIN held AS b
    UNION ALL
    SELECT
        chosen.1.5, chosen.1.1, '', 'log', '', ifNull(position, 0), 0, ifNull(position, 0), log_item_id,
        log_item_id, '', toString(role), toString(item_type), toString(name),
        [if(item_ref = '', log_item_id, item_ref)], tokens, content_digest, '', tool_call_id,
        chosen.1.11, false
    FROM
    (
        SELECT *, groupUniqArray(attempt_id) OVER (PARTITION BY position) AS attempts
        FROM log_items
        WHERE tenant = chosen.1.2
            AND session_id = {session_id:String}
            AND thread_id = chosen.1.4
            AND empty(chosen.1.9)
            AND position >= chosen.1.7
            AND position < chosen.1.8
            AND (tenant, source) NOT IN (untold)
            AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
        LIMIT 1 BY incarnation, stream_seq
    )
    WHERE attempt_id = chosen.1.10 OR NOT has(attempts, chosen.1.10)
),
titles AS
(
    SELECT item_id, argMax((name, area, size, state), at) AS item
    FROM
    (
        SELECT
            item_id, title AS name, toString(layer) AS area, token_estimate AS size, toString(redaction_state) AS state,
            ifNull(sequence, toInt64(stream_seq)) AS at
        FROM items
        WHERE tenant = chosen.1.2
            AND session_id = {session_id:String}
            AND change != 'removed'
            AND (tenant, source) NOT IN (untold)
            AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
        UNION ALL
        SELECT r.2, '', '', NULL, 'expired', -1
        FROM
        (
            SELECT arrayJoin(JSONExtract(data, 'records', 'Array(Tuple(session_id String, item_id String))')) AS r
            FROM events
            WHERE tenant = chosen.1.2
                AND session_id IN ('', {session_id:String})
                AND event_type = 'context.erasure.applied'
                AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
                AND (session_id = '' OR NOT startsWith(JSONExtractString(data, 'erased_subject'), 'item:'))
        )
        WHERE r.1 = {session_id:String} AND r.2 != ''
    )
    GROUP BY item_id
)
SELECT
    w.call AS call_id,
    toInt64(row_number() OVER (PARTITION BY w.target, w.assembly ORDER BY w.place, w.place_given)) - 1 AS position,
    multiIf(
        w.layer != '', w.layer, i.item.2 != '', i.item.2, w.item_type = 'function_call', 'tool_calls',
        w.item_type = 'function_call_output', 'tool_results', w.item_type = 'reasoning', 'reasoning', w.role) AS layer,
    w.role AS role, w.item_type AS item_type, w.name AS name, i.item.1 AS title,
    if(w.origin = 'log' AND pass.2, pass.5[at], w.tokens) AS tokens,
    if(pass.2, coalesce(pass.6[at], if(w.origin = 'log', w.tokens, i.item.3)), w.tokens) AS tokens_full,
    toBool(pass.2) AS elided, if(pass.2, pass.7, '') AS elided_by,
    if(w.redaction = '', i.item.4, w.redaction) AS redaction_state, w.items AS item_refs,
    w.tool_call AS tool_call_id, w.origin AS origin,
    if(w.origin = 'assembly', has(before.3, w.assembly), NULL)::Nullable(Bool) AS injected, w.assembly AS assembly_id,
    w.target AS target,
    multiIf(
        w.origin = 'assembly' AND notEmpty(before.1), NOT has(before.1, w.key) AND NOT hasAny(before.2, w.items),
        w.origin = 'log' AND chosen.2.8 > 0, w.log_position >= chosen.2.8 OR w.log_position < chosen.2.7, NULL
    )::Nullable(Bool) AS is_new,
    if(pass.2, if(pass.9[at] = '', pass.8, pass.9[at]), '') AS elided_level, if(pass.2, pass.10[at], '') AS reload_ref,
    w.digest AS digest, w.block AS block, chosen.1.4 AS thread_id, chosen.2.3 AS previous_turn_id,
    chosen.2.5 AS previous_call_id, arrayLast(p -> hasAny(p.3, w.items), before.4).2 AS persona,
    multiIf(w.known.2 != '', w.known.2, startsWith(w.known.1, 'urn:ctxledger:import:'), 'reconstructed', 'stated')
        AS fidelity,
    if(w.lacking, 'partial', w.known.3) AS coverage,
    arrayDistinct(if(w.lacking, arrayPushBack(w.known.4, 'base_missing'), w.known.4)) AS coverage_reasons
FROM
(
    SELECT
        *,
        arrayLast(
            p -> p.1 < order_in_thread
                AND (
                    hasAny(p.3, items)
                        OR item_type = 'function_call_output' AND tool_call != '' AND has(p.4, tool_call)),
            cuts.1) AS pass,
        multiIf(
            has(pass.3, items[1]), indexOf(pass.3, items[1]), item_type != 'function_call_output' OR tool_call = '', 0,
            indexOf(pass.4, tool_call)) AS at
    FROM seen
    WHERE origin = 'assembly'
        OR NOT arrayExists(
            x -> x.1 < order_in_thread AND log_position BETWEEN x.2 AND x.3 AND NOT has(x.4, items[1]), cuts.2)
) AS w
LEFT JOIN titles AS i ON w.items[1] = i.item_id
ORDER BY target, position, assembly_id
