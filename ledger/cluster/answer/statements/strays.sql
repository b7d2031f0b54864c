SELECT toString(tenant), source, session_id, number
FROM refused
WHERE session_id NOT IN (SELECT session_id FROM events WHERE session_id IN (SELECT session_id FROM refused))
