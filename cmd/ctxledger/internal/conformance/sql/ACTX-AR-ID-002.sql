-- check: attempts-are-told-apart
-- expects: each attempt has a selection of its own, under its task, run and attempt
-- rule: seed 001 ACTX-AR-ID-002
-- applies: run
SELECT
    count() AS looked_at,
    concat(
        'task-1 run-1 attempt-1: a selected, b omitted, c omitted; ',
        'task-1 run-2 attempt-2: a omitted, b selected, c selected')
        AS expected,
    arrayStringConcat(groupArray(line), '; ') AS found
FROM
(
    SELECT concat(
        task_id, ' ', run_id, ' ', attempt_id, ': ',
        arrayStringConcat(
            arraySort(groupArray(concat(replaceAll(item_ref, concat('-', {run:String}), ''), ' ', outcome))), ', ')
    ) AS line
    FROM turn_candidates
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    GROUP BY task_id, run_id, attempt_id
    ORDER BY attempt_id
);

-- check: earlier-attempt-unchanged
-- expects: the row of the first attempt is byte for byte what it was before the second attempt was recorded
-- rule: seed 001 ACTX-AR-ID-002
-- applies: run
-- unchanged: the second attempt comes between
SELECT count() AS looked_at, arrayStringConcat(groupArray(row), '\n') AS found
FROM
(
    SELECT formatRowNoNewline('JSONEachRow', *) AS row
    FROM decisions FINAL
    WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND attempt_id = 'attempt-1'
);

-- check: retry-is-no-violation
-- expects: a second attempt that reuses the selection id of the first breaks the conservation of neither
-- rule: seed 001 ACTX-AR-ID-002, invariant 6
-- applies: run
SELECT
    (
        SELECT count()
        FROM selections
        WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    ) AS looked_at,
    '' AS expected, arrayStringConcat(groupArray(concat('selection ', selection_id, ': ', problem)), '; ') AS found
FROM check_conservation
WHERE tenant = {tenant:String} AND session_id = {session_id:String};

-- check: tasks-name-their-attempt
-- expects: a selection for a task says which run or attempt it was for
-- rule: seed 001 ACTX-AR-ID-002
-- applies: both
SELECT
    count() AS looked_at, '' AS expected,
    arrayStringConcat(
        groupArrayIf(10)(concat('selection ', selection_id, ' of task ', task_id), run_id = '' AND attempt_id = ''),
        '; ') AS found
FROM selections
WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND task_id != '';
