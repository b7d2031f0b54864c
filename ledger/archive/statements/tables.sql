SELECT name
FROM system.tables
WHERE database = {database:String} AND engine LIKE '%MergeTree' AND name != 'restore_state'
ORDER BY name
