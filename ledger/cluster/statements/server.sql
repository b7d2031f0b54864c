SELECT
    version() AS version,
    (SELECT anyOrNull(substitution) FROM system.macros WHERE macro = 'shard') AS shard,
    (SELECT anyOrNull(substitution) FROM system.macros WHERE macro = 'replica') AS replica,
    (SELECT count() > 0 FROM system.tables WHERE database = 'system' AND name = 'zookeeper') AS keeper,
    (SELECT count() > 0 FROM system.databases WHERE name = {database:String}) AS present
