SELECT tenant, source
FROM retold
WHERE session_id = {session_id:String}
    AND tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND since <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
