SELECT name FROM system.tables WHERE database = currentDatabase()
