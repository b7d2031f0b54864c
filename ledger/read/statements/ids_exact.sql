-- The newest session and tenant of one id. The inner query reads the projection ids of events.
SELECT argMax(session_id, at) AS session, argMax(tenant, at) AS whose
FROM
(
    SELECT session_id, tenant, max(recorded_at) AS at
    FROM {table:Identifier}
    WHERE {column:Identifier} = {id:String}
        AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    GROUP BY session_id, tenant
)
HAVING count() > 0
