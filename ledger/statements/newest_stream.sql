SELECT incarnation, max(last_seq)
FROM commits
GROUP BY incarnation
ORDER BY max(recorded_at) DESC
LIMIT 1
