SELECT groupArray(name)
FROM system.tables
WHERE database = currentDatabase() AND total_rows > 0
