SELECT count()
FROM system.processes
WHERE startsWith(query_id, {prefix:String}) AND current_database = currentDatabase()
