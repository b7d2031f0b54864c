SELECT DISTINCT session_id
FROM events
WHERE session_id IN {sessions:Array(String)}
