SELECT
    incarnation,
    greatest(projection_version, toUInt32({oldest:UInt32})) AS rules,
    min(first_seq),
    minIf(first_seq, epoch > 0),
    max(last_seq)
FROM commits
WHERE incarnation IN {incarnations:Array(UUID)}
GROUP BY incarnation, rules
ORDER BY incarnation, rules
