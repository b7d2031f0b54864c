SELECT revision, cluster, own, version, shards.number, shards.host, shards.port
FROM cluster_shards
ORDER BY revision DESC
LIMIT 1
