-- The tenants that have facts of a session.
SELECT DISTINCT toString(tenant) AS tenant
FROM recorded_events
WHERE session_id = {session_id:String} AND ({tenant:String} = '' OR tenant = {tenant:String})
ORDER BY tenant
