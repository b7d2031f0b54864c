SELECT database, name, uuid
FROM system.tables
WHERE database IN (currentDatabase(), {beside:String}) AND engine LIKE '%MergeTree'
