-- The ids of one column that begin with a text: the text itself, if it is an id, then the newest first. The inner
-- query reads the projection ids of events.
SELECT id, argMax(session_id, at) AS session, argMax(tenant, at) AS whose
FROM
(
    SELECT {column:Identifier} AS id, session_id, tenant, max(recorded_at) AS at
    FROM {table:Identifier}
    WHERE startsWith({column:Identifier}, {beginning:String})
        AND id != ''
        AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session:String} = '' OR session_id = {session:String})
    GROUP BY id, session_id, tenant
)
GROUP BY id
ORDER BY id = {beginning:String} DESC, max(at) DESC, id
LIMIT {limit:UInt32}
