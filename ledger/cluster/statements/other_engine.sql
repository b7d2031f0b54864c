-- A table that is plain where the tables are to be replicated, or the other way round. Replicas have
-- definitions each for itself.
SELECT name
FROM system.tables
WHERE database = currentDatabase()
    AND endsWith(engine, 'MergeTree')
    AND startsWith(engine, 'Replicated') != {replicated:Bool}
    AND name != 'definitions'
ORDER BY name
LIMIT 1
