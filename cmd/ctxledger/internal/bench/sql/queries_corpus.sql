SELECT
    currentDatabase(), count(), uniq(tenant, session_id), uniqExact(tenant),
    (
        SELECT sum(bytes_on_disk)
        FROM system.parts
        WHERE database = currentDatabase() AND active
    ),
    (
        SELECT count()
        FROM system.parts
        WHERE database = currentDatabase() AND active
    )
FROM events
