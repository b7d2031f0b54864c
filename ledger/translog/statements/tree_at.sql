SELECT last_seq, tree_size, tree_root, tree_frontier
FROM commits
WHERE incarnation = {incarnation:UUID} AND last_seq <= {through:UInt64}
ORDER BY last_seq DESC, first_seq DESC
LIMIT 1
