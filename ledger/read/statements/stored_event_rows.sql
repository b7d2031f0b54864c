-- How many rows the table of events has of a session. For tenants' readers, whose databases have no commits.
SELECT count() AS n
FROM events
WHERE session_id = {session:String}
    AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
