SELECT cause, ifNull(sum(break_cost), 0) AS cost
FROM cache_breaks
WHERE tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND session_id IN {sessions:Array(String)}
GROUP BY cause
ORDER BY cost DESC, cause
LIMIT 1
