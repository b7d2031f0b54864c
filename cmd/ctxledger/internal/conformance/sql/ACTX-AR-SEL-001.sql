-- check: decided-one-by-one
-- expects: three of five snippets are selected in their order, and each of the other two is recorded with its reason
-- rule: seed 001 ACTX-AR-SEL-001
-- applies: run
SELECT
    count() AS looked_at,
    'a selected 1, c selected 2, e selected 3, b omitted budget_limit, d omitted low_relevance' AS expected,
    arrayStringConcat(groupArray(line), ', ') AS found
FROM
(
    SELECT concat(
        replaceAll(item_ref, concat('-', {run:String}), ''), ' ', outcome, ' ',
        if(outcome = 'omitted', toString(reason), ifNull(toString(rank), '?'))) AS line
    FROM turn_candidates
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    ORDER BY outcome = 'omitted', rank, item_ref
);

-- check: available-is-candidates
-- expects: the surface lists the available items, and all of them are candidates
-- rule: seed 001 ACTX-AR-SEL-001
-- applies: run
SELECT
    count() AS looked_at,
    '[\'a\',\'b\',\'c\',\'d\',\'e\'] available and considered' AS expected,
    arrayStringConcat(
        groupArray(
            concat(
                replaceAll(toString(f.available_refs), concat('-', {run:String}), ''),
                if(arraySort(f.available_refs) = arraySort(s.candidate_refs), ' available and considered', ' available')
            )),
        '; ') AS found
FROM
(
    SELECT *
    FROM surfaces
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
) AS f
INNER JOIN
(
    SELECT *
    FROM selections
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
) AS s
    ON s.surface_id = f.surface_id;

-- check: reasons-of-the-standard
-- expects: every reason is one of the twelve of the Agent Context standard
-- rule: seed 001 ACTX-AR-SEL-001, Agent Context omission reasons
-- applies: run
SELECT
    count() AS looked_at, '' AS expected,
    arrayStringConcat(
        groupArrayIf(10)(
            concat(item_ref, ': ', reason),
            reason NOT IN (
                'budget_limit', 'low_relevance', 'duplicate', 'stale', 'policy_blocked',
                'permission_missing', 'unsupported_media', 'too_large', 'sensitive', 'superseded_by_summary',
                'not_visible_to_target', 'custom')),
        '; ') AS found
FROM omissions
WHERE tenant = {tenant:String} AND session_id = {session_id:String};

-- check: candidates-conserved
-- expects: each candidate is either selected or omitted, and each omission has a reason
-- rule: invariant 6, boundary rule 4
-- applies: both
SELECT
    (
        SELECT count()
        FROM selections
        WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND change = 'completed'
    ) AS looked_at,
    '' AS expected,
    arrayStringConcat(
        groupArray(10)(concat('selection ', selection_id, ': ', problem, ' ', toString(item_refs))), '; ') AS found
FROM check_conservation
WHERE tenant = {tenant:String} AND session_id = {session_id:String};
