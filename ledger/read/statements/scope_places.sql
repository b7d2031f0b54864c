SELECT
    if(tenant = '', 'default', tenant) AS whose, session_id, sum(n) AS events, min(first) AS first_at,
    max(last) AS last_at
FROM
(
    SELECT toString(tenant) AS tenant, session_id, count() AS n, min(recorded_at) AS first, max(recorded_at) AS last
    FROM events FINAL
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session:String} = '' OR session_id = {session:String})
        AND ({turn:String} = '' OR turn_id = {turn:String})
        AND ({run:String} = '' OR run_id = {run:String})
        AND ({task:String} = '' OR task_id = {task:String})
        AND ({attempt:String} = '' OR attempt_id = {attempt:String})
        AND session_id != ''
    GROUP BY tenant, session_id
    UNION ALL
    SELECT tenant, r.1, uniqExact(r.4), min(recorded_at), max(recorded_at)
    FROM
    (
        SELECT
            toString(tenant) AS tenant, recorded_at,
            arrayJoin(
                JSONExtract(
                    data, 'records', 'Array(Tuple(session_id String, run_id String, turn_id String, leaf String))')
            ) AS r
        FROM events FINAL
        WHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND ({session:String} = '' OR session_id IN ('', {session:String}))
            AND event_type = {erasure:String}
    )
    WHERE r.1 != ''
        AND r.4 != ''
        AND ({session:String} = '' OR r.1 = {session:String})
        AND ({turn:String} = '' OR r.3 = {turn:String})
        AND ({run:String} = '' OR r.2 = {run:String})
        AND {task:String} = ''
        AND {attempt:String} = ''
    GROUP BY tenant, r.1
)
GROUP BY whose, session_id
ORDER BY last_at DESC, whose, session_id
LIMIT {limit:UInt32}
SETTINGS do_not_merge_across_partitions_select_final = 1
