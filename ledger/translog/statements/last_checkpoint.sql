SELECT tree_size, note, recorded_at
FROM checkpoints
WHERE incarnation = {incarnation:UUID} AND tree_size <= {most:UInt64}
ORDER BY tree_size DESC, recorded_at DESC
LIMIT 1
