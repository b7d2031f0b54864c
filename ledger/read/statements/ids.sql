-- The ids of one column that begin with a text, the newest first.
SELECT {column:Identifier} AS id, argMax(session_id, recorded_at) AS session, argMax(tenant, recorded_at) AS whose
FROM {table:Identifier}
WHERE startsWith({column:Identifier}, {beginning:String})
    AND id != ''
    AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session:String} = '' OR session_id = {session:String})
GROUP BY id
ORDER BY max(recorded_at) DESC, id
LIMIT {limit:UInt32}
