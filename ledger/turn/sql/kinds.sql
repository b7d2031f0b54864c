SELECT tenant, groupUniqArray(event_type) AS kinds
FROM events
PREWHERE session_id = {session_id:String}
    AND tenant = {tenant:String}
GROUP BY tenant
