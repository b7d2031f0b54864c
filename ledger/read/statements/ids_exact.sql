-- The newest session and tenant of one id. An index of the column finds the id, where there is one.
SELECT argMax(session_id, recorded_at) AS session, argMax(tenant, recorded_at) AS whose
FROM {table:Identifier}
WHERE {column:Identifier} = {id:String}
    AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
HAVING count() > 0
