-- check: joins-by-every-id
-- expects: each of the seventeen correlation ids of the item's event finds the item
-- rule: seed 001 failure case 4, invariant 4
-- applies: run
SELECT
    count() AS looked_at, '' AS expected,
    arrayStringConcat(
        arrayFilter(
            x -> x != '',
            [
                if(countIf(tenant = {tenant:String}) = 1, '', 'tenant'),
                if(countIf(agent = 'planner') = 1, '', 'agent'),
                if(countIf(resource_id = 'customer-812') = 1, '', 'resource_id'),
                if(countIf(runtime_id = 'other-runtime') = 1, '', 'runtime_id'),
                if(countIf(session_id = {session_id:String}) = 1, '', 'session_id'),
                if(countIf(thread_id = 'thread-1') = 1, '', 'thread_id'),
                if(countIf(turn_id = concat('turn-1-', {run:String})) = 1, '', 'turn_id'),
                if(countIf(task_id = 'task-1') = 1, '', 'task_id'),
                if(countIf(run_id = 'run-1') = 1, '', 'run_id'),
                if(countIf(attempt_id = 'attempt-1') = 1, '', 'attempt_id'),
                if(countIf(step_id = 'step-1') = 1, '', 'step_id'),
                if(countIf(tool_call_id = 'tool-1') = 1, '', 'tool_call_id'),
                if(countIf(action_id = 'action-1') = 1, '', 'action_id'),
                if(countIf(evidence_id = 'evidence-1') = 1, '', 'evidence_id'),
                if(countIf(context_id = 'context-1') = 1, '', 'context_id'),
                if(countIf(parent_run_id = 'run-0') = 1, '', 'parent_run_id'),
                if(countIf(root_run_id = 'run-0') = 1, '', 'root_run_id')]),
        ', ') AS found
FROM item_versions
WHERE tenant = {tenant:String}
    AND session_id = {session_id:String}
    AND item_id = concat('item-', {run:String})
    AND change = 'added';

-- check: context-joins-task
-- expects: the task leads to its turn, to the selection for it and to the item
-- rule: seed 001 failure case 4
-- applies: run
SELECT
    count() AS looked_at, 'turn-1 item blob:1' AS expected,
    replaceAll(
        arrayStringConcat(groupArray(concat(c.turn_id, ' ', c.item_ref, ' ', i.content_ref)), ', '),
        concat('-', {run:String}), '') AS found
FROM
(
    SELECT *
    FROM turn_candidates
    WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND task_id = 'task-1'
) AS c
INNER JOIN
(
    SELECT *
    FROM item_versions
    WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND task_id = 'task-1'
) AS i
    ON i.item_id = c.item_ref AND i.turn_id = c.turn_id;

-- check: nothing-strays
-- expects: no fact of the session is recorded under another turn
-- rule: seed 001 failure case 4
-- applies: run
SELECT
    count() AS looked_at, concat('turn-1-', {run:String}) AS expected,
    arrayStringConcat(arraySort(groupUniqArray(turn_id)), ', ') AS found
FROM recorded_events
WHERE tenant = {tenant:String} AND session_id = {session_id:String};
