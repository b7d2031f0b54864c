SELECT arrayStringConcat(groupUniqArray(cluster), ', ')
FROM system.clusters
