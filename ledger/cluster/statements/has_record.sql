EXISTS TABLE cluster_shards
