SELECT max(last_seq)
FROM commits
WHERE incarnation = {incarnation:UUID} AND tree_size <= {most:UInt64}
