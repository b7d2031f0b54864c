SELECT tenant, groupUniqArray(event_type) AS kinds
FROM events
PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String}
GROUP BY tenant
