-- check: neighbours-stand
-- expects: the log holds the events before and after the refused events, and no others
-- rule: seed 001 failure case 1, invariant 11
-- applies: run
SELECT
    count() AS looked_at, '0 before, 1 after incomplete' AS expected,
    replaceAll(arrayStringConcat(groupArray(line), ', '), concat('-', {run:String}), '') AS found
FROM
(
    SELECT trim(concat(ifNull(toString(position), '?'), ' ', log_item_id, ' ', status)) AS line
    FROM log_entries
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    ORDER BY position
);

-- check: no-status-from-context
-- expects: no query about the task or the tool call returns a result of it
-- rule: seed 001 failure case 1, invariant 3
-- applies: run
SELECT
    (
        SELECT count()
        FROM recorded_events
        WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    ) AS looked_at,
    '' AS expected,
    arrayStringConcat(groupArray(concat(event_type, ' at ', toString(stream_seq))), '; ') AS found
FROM recorded_events
WHERE tenant = {tenant:String}
    AND session_id = {session_id:String}
    AND (position(data, 'completed') > 0 OR position(data, 'succeeded') > 0 OR task_id != '');
