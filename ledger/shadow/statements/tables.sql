SELECT database, name, uuid
FROM system.tables
WHERE database IN (currentDatabase(), {rebuilt:String}) AND engine LIKE '%MergeTree'
