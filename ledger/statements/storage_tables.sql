SELECT table, sum(rows), sum(bytes_on_disk), count()
FROM system.parts
WHERE database = currentDatabase()
    AND active
GROUP BY table
ORDER BY sum(bytes_on_disk) DESC, table
