SELECT sum(total_rows)
FROM system.tables
WHERE database = currentDatabase() AND has({tables:Array(String)}, name)
