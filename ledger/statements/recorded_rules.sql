SELECT
    greatest(projection_version, toUInt32({oldest:UInt32})) AS rules,
    min(first_seq),
    min(last_seq),
    max(last_seq)
FROM commits
WHERE incarnation = {incarnation:UUID}
GROUP BY rules
ORDER BY rules
