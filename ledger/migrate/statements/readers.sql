-- The database of the connection, the databases of tenants' readers, their digests, and the tables of a
-- shard that say where the rows of its cluster are.
WITH
(
    SELECT arraySort(groupArray((name, comment)))
    FROM system.databases
    WHERE startsWith(name, concat(currentDatabase(), @mark))
) AS found,
(
    SELECT arraySort(groupArray(name))
    FROM system.tables
    WHERE database = currentDatabase() AND name IN @records
) AS records
SELECT currentDatabase(), found.1, found.2, records
