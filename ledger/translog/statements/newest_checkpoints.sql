SELECT incarnation, tree_size, note, recorded_at
FROM checkpoints
ORDER BY recorded_at DESC, tree_size DESC
LIMIT 1 BY incarnation
