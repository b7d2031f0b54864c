SELECT name
FROM system.tables
WHERE database = {database:String} AND engine LIKE '%MergeTree'
ORDER BY name
