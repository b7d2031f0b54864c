SELECT currentDatabase(), groupArray(name)
FROM system.tables
WHERE database = currentDatabase()
