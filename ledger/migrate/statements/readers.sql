-- The database of the connection, the databases of tenants' readers, and their digests.
WITH (
    SELECT arraySort(groupArray((name, comment)))
    FROM system.databases
    WHERE startsWith(name, concat(currentDatabase(), @mark))
) AS found
SELECT currentDatabase(), found.1, found.2
