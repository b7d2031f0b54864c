SELECT DISTINCT source, number
FROM
(
    SELECT toString(source) AS source, toInt64(assumeNotNull(sequence)) AS number
    FROM events
    WHERE tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
        AND session_id = {session:String}
        AND sequence IS NOT NULL
        AND NOT (
                ({turn:String} = '' OR turn_id = {turn:String})
                AND ({run:String} = '' OR run_id = {run:String})
                AND ({task:String} = '' OR task_id = {task:String})
                AND ({attempt:String} = '' OR attempt_id = {attempt:String}))
    UNION ALL
    SELECT r.1, assumeNotNull(r.5)
    FROM
    (
        SELECT arrayJoin(
            JSONExtract(
                data, 'records',
                'Array(Tuple(
                    source String, session_id String, run_id String, turn_id String, source_sequence Nullable(Int64)))'
            )) AS r
        FROM events
        WHERE tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
            AND session_id IN ('', {session:String})
            AND event_type = {erasure:String}
    )
    WHERE r.2 = {session:String}
        AND r.5 IS NOT NULL
        AND NOT (
            ({turn:String} = '' OR r.4 = {turn:String})
            AND ({run:String} = '' OR r.3 = {run:String})
            AND {task:String} = ''
            AND {attempt:String} = '')
)
ORDER BY source, number
