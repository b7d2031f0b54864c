SELECT count() > 0
FROM (SELECT 1 FROM events WHERE session_id = {session:String} LIMIT 1)
