-- check: attempts-are-told-apart
-- expects: each attempt has a separate selection, under its task, run and attempt
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
-- expects: the second attempt does not change any byte of the first attempt's row
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
-- expects: a second attempt with the selection id of the first does not violate the conservation of either
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

-- check: windows-are-told-apart
-- expects: each attempt has its assembled window, also with the same call id and assembly id, and a tool call has a
--   separate window
-- rule: seed 001 ACTX-AR-ID-002, ACTX-AR-ASM-001
-- applies: run
SELECT
    count() AS looked_at, 'attempt-1 model: a; attempt-1 tool: a; attempt-2 model: b c' AS expected,
    arrayStringConcat(groupArray(line), '; ') AS found
FROM
(
    SELECT concat(
        attempt_id, ' ', target, ': ',
        replaceAll(
            arrayStringConcat(arrayFlatten(arraySort(groupArray(item_refs))), ' '), concat('-', {run:String}), '')
    ) AS line
    FROM turn_window
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    GROUP BY attempt_id, target
    ORDER BY attempt_id, target
);

-- check: task-leads-to-its-parts
-- expects: the task leads, by attempt and step, to the input of a tool call and to the action that requested more
--   context
-- rule: seed 001 (runtime ids), invariant 4
-- applies: run
SELECT
    count() AS looked_at, 'attempt-1 step-1 action-1: gap; attempt-1 step-1 tool-1: a' AS expected,
    replaceAll(arrayStringConcat(arraySort(groupArray(line)), '; '), concat('-', {run:String}), '') AS found
FROM
(
    SELECT
        concat(
            attempt_id, ' ', step_id, ' ', tool_call_id, ': ',
            arrayStringConcat(arrayFlatten(block_items), ' ')) AS line
    FROM assemblies
    WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND task_id = 'task-1' AND target = 'tool'
    UNION ALL
    SELECT concat(attempt_id, ' ', step_id, ' ', action_id, ': ', missing_id)
    FROM gap_steps
    WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND task_id = 'task-1'
);

-- check: tasks-name-their-attempt
-- expects: a selection for a task names its run or attempt
-- rule: seed 001 ACTX-AR-ID-002
-- applies: both
SELECT
    count() AS looked_at, '' AS expected,
    arrayStringConcat(
        groupArrayIf(10)(concat('selection ', selection_id, ' of task ', task_id), run_id = '' AND attempt_id = ''),
        '; ') AS found
FROM selections
WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND task_id != '';
