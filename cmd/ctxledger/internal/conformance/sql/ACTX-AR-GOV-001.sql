-- check: own-words-stay
-- expects: words that only resemble a status are kept: the status of a log entry, a tool's name, a title, the outcome
--   of a rung
-- rule: boundary rule 1
-- applies: run
SELECT
    count() AS looked_at,
    'approve_invoice completed; Task completed: approval granted; trim_retrieved failed' AS expected,
    arrayStringConcat(groupArray(line), '; ') AS found
FROM
(
    SELECT stream_seq, concat(name, ' ', status) AS line
    FROM log_entries
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    UNION ALL
    SELECT stream_seq, title
    FROM item_versions
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    UNION ALL
    SELECT stream_seq, concat(step_name, ' ', outcome)
    FROM pressure_steps
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    ORDER BY stream_seq
);

-- check: nothing-declares-status
-- expects: no recorded event has a member for an approval, or for the result of a turn, task, run, step or tool call
-- rule: invariant 3
-- applies: both
SELECT
    count() AS looked_at, '' AS expected,
    arrayStringConcat(
        groupArrayIf(10)(
            concat(event_type, ' at ', toString(stream_seq)),
            match(
                concat(data, toString(extensions)),
                concat(
                    '(?i)["\'](turn|task|run|step|attempt|tool|tool_call|action|approval|permission)_?',
                    '(status|outcome|completed|failed|succeeded|cancelled|approved|denied|granted)["\']\\s*:')
            )),
        '; ') AS found
FROM recorded_events
WHERE tenant = {tenant:String} AND session_id = {session_id:String};

-- check: nothing-refused
-- expects: no event of the session is in quarantine
-- rule: invariants 3 and 11
-- applies: session
SELECT
    (
        SELECT count()
        FROM recorded_events
        WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    ) AS looked_at,
    '' AS expected,
    arrayStringConcat(
        groupArray(10)(concat(code, ' ', pointer, ' (sequence ', toString(stream_seq), ')')), '; ') AS found
FROM refused_events
WHERE tenant IN ({tenant:String}, 'default')
    AND (
        JSONExtractString(header, 'ce-sessionid', 1) = {session_id:String}
            OR JSONExtractString(data, 'sessionid') = {session_id:String});
