SELECT incarnation, max(last_seq)
FROM commits
GROUP BY incarnation
