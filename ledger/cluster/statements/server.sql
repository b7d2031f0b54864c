SELECT
    version() AS version,
    (SELECT anyOrNull(substitution) FROM system.macros WHERE macro = 'shard') AS shard,
    (SELECT count() > 0 FROM system.databases WHERE name = {database:String}) AS present
