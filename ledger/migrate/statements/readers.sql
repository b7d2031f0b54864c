-- The database of the connection, the databases of tenants' readers, their digests, and the definers.
WITH (
    SELECT arraySort(groupArray((name, comment)))
    FROM system.databases
    WHERE startsWith(name, concat(currentDatabase(), @mark))
) AS found
SELECT
    currentDatabase(), found.1, found.2,
    (SELECT groupArray(name) FROM system.users WHERE startsWith(name, 'rows_'))
