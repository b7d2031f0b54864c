SELECT revision, partition, source, target, closed
FROM cluster_moves
ORDER BY revision DESC
LIMIT 1
