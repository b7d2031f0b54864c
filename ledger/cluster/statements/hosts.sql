SELECT shard_num, host_name, port
FROM system.clusters
WHERE cluster = {cluster:String}
ORDER BY shard_num, replica_num
