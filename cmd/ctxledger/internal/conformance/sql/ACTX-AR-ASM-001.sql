-- check: injection-leads-to-sources
-- expects: the injection names its assembly, the assembly names its items by block, and each item names its source
-- rule: seed 001 ACTX-AR-ASM-001
-- applies: run
WITH
blocks AS
(
    SELECT assembly_id, b.1 AS place, b.2 AS block, arrayJoin(b.3) AS item_ref
    FROM assemblies
    ARRAY JOIN arrayZip(block_positions, blocks, block_items) AS b
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
)
SELECT
    count() AS looked_at,
    concat(
        'model message_history 0 code main file:///srv/app/main.py, ',
        'model message_history 1 docs guide https://example.org/guide')
        AS expected,
    replaceAll(arrayStringConcat(groupArray(line), ', '), concat('-', {run:String}), '') AS found
FROM
(
    SELECT concat(
        n.target, ' ', n.injection_point, ' ', toString(b.place), ' ', b.block, ' ', i.item_id, ' ', i.source_uris[1]
    ) AS line
    FROM
    (
        SELECT *
        FROM injections
        WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND change = 'applied'
    ) AS n
    INNER JOIN blocks AS b ON b.assembly_id = n.assembly_id
    INNER JOIN
    (
        SELECT *
        FROM item_versions
        WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    ) AS i
        ON i.item_id = b.item_ref
    ORDER BY b.place
);

-- check: sources-by-id-and-selector
-- expects: a source with only an id is recorded with its id and its guarantor, and a selector names the used part of a
--   source
-- rule: seed 001 ACTX-AR-ASM-001
-- applies: run
SELECT
    count() AS looked_at, 'main  {"end":40,"start":10,"type":"line_range"}, notes notes-7 team' AS expected,
    replaceAll(arrayStringConcat(arraySort(groupArray(line)), ', '), concat('-', {run:String}), '') AS found
FROM
(
    SELECT concat(
        item_id, ' ', source_ids[1], ' ', source_selectors[1], source_authorities[1]
    ) AS line
    FROM item_versions
    WHERE tenant = {tenant:String}
        AND session_id = {session_id:String}
        AND item_id IN (concat('main-', {run:String}), concat('notes-', {run:String}))
);

-- check: selected-is-not-injected
-- expects: an item that was selected but not placed is in no assembly and in no injection
-- rule: invariant 5
-- applies: run
SELECT
    (
        SELECT count()
        FROM turn_candidates
        WHERE tenant = {tenant:String}
            AND session_id = {session_id:String}
            AND item_ref = concat('notes-', {run:String})
            AND outcome = 'selected'
    ) AS looked_at,
    '' AS expected, arrayStringConcat(groupArray(concat(record_kind, ' ', record_id)), ', ') AS found
FROM placements FINAL
WHERE tenant = {tenant:String}
    AND session_id = {session_id:String}
    AND (
        has(item_refs, concat('notes-', {run:String})) OR has(arrayFlatten(block_items), concat('notes-', {run:String}))
    );

-- check: assembled-is-not-injected
-- expects: the injected assembly is visible, and the assembly without an injection is not
-- rule: invariant 5
-- applies: run
SELECT
    count() AS looked_at, 'call-1 injected, call-2 not injected' AS expected,
    replaceAll(arrayStringConcat(groupArray(line), ', '), concat('-', {run:String}), '') AS found
FROM
(
    SELECT DISTINCT concat(call_id, if(injected, ' injected', ' not injected')) AS line
    FROM turn_window
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    ORDER BY line
);

-- check: assemblies-recorded
-- expects: no injection names an assembly that is not recorded
-- rule: seed 001 ACTX-AR-ASM-001
-- applies: both
SELECT
    (
        SELECT count()
        FROM injections
        WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND change = 'applied' AND assembly_id != ''
    ) AS looked_at,
    '' AS expected,
    arrayStringConcat(groupArray(10)(concat('injection ', injection_id, ' names ', assembly_id)), '; ') AS found
FROM check_injected_without_assembly
WHERE tenant = {tenant:String} AND session_id = {session_id:String};

-- check: items-recorded
-- expects: every item of an injected assembly is recorded as an item, an entry of the log or a summary
-- rule: seed 001 ACTX-AR-ASM-001
-- applies: both
SELECT
    count() AS looked_at, '' AS expected,
    arrayStringConcat(groupArrayIf(10)(concat('assembly ', assembly_id, ': ', item_ref), NOT known), '; ') AS found
FROM
(
    SELECT DISTINCT
        assembly_id, arrayJoin(arrayFlatten(block_items)) AS item_ref,
        item_ref IN
        (
            SELECT item_id
            FROM item_versions
            WHERE tenant = {tenant:String} AND session_id = {session_id:String}
            UNION ALL
            SELECT log_item_id
            FROM log_entries
            WHERE tenant = {tenant:String} AND session_id = {session_id:String}
            UNION ALL
            SELECT item_ref
            FROM log_entries
            WHERE tenant = {tenant:String} AND session_id = {session_id:String}
            UNION ALL
            SELECT summary_id
            FROM summaries
            WHERE tenant = {tenant:String} AND session_id = {session_id:String}
        ) AS known
    FROM assemblies
    WHERE tenant = {tenant:String}
        AND session_id = {session_id:String}
        AND assembly_id IN
        (
            SELECT assembly_id
            FROM injections
            WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND change = 'applied'
        )
);
