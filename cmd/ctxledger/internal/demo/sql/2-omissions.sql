-- What was left out, and why?
SELECT reason, count() AS omissions, uniqExact(item_ref) AS items, sum(tokens) AS tokens, min(call_id) AS first_call
FROM omissions
WHERE session_id = 'demo-session'
GROUP BY reason
ORDER BY tokens DESC
