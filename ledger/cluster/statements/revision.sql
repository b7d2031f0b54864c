SELECT max(revision)
FROM cluster_shards
