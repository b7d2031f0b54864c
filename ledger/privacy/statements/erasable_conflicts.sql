-- Before SubjectRules all tenants shared identities.
WITH
gone AS
(
    SELECT if(tenant = '', 'default', toString(tenant)) AS whose, toString(source) AS producer, event_id AS id
    FROM events
    WHERE NOT has({kept:Array(String)}, toString(event_type))
        AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND (
            {kind:String} = 'resource' AND resource_id = {id:String}
                OR {kind:String} = 'session' AND session_id = {id:String}
                OR {kind:String} = 'run' AND run_id = {id:String}
                OR {kind:String} = 'thread' AND thread_id = {id:String}
                OR {kind:String} = 'item' AND subject = {id:String} AND startsWith(event_type, {item_types:String}))
)
SELECT q.incarnation, q.stream_seq
FROM quarantine AS q
LEFT ANY JOIN
(
    SELECT incarnation, max(last_seq) AS last
    FROM commits
    WHERE projection_version < {subject_rules:UInt32}
    GROUP BY incarnation
) AS older
    ON older.incarnation = q.incarnation
WHERE q.code = {code:String}
    AND (
        (q.tenant, q.source, q.event_id) IN (SELECT whose, producer, id FROM gone)
            OR q.stream_seq <= older.last AND (q.source, q.event_id) IN (SELECT producer, id FROM gone))
