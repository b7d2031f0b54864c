-- The tables and views whose rows come from the streams, with a digest of their columns. What every shard has, such
-- as prices, has neither of the two columns. A view with parameters has no columns here.
SELECT table, cityHash64(arraySort(groupArray((position, name, type)))) AS shape
FROM system.columns
WHERE database = currentDatabase()
GROUP BY table
HAVING countIf(name IN ('tenant', 'incarnation')) > 0
ORDER BY table
