SELECT first_seq, last_seq, messages, digest, recorded_at
FROM commits
WHERE incarnation = {incarnation:UUID}
ORDER BY last_seq DESC, first_seq DESC
LIMIT 1
