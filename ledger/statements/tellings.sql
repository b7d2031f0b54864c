SELECT
    tenant, session_id, source, min(event_time) AS first_at, max(event_time) AS reach, min(recorded_at) AS begun
FROM events
WHERE startsWith(source, 'urn:ctxledger:import:')
    AND (tenant, session_id) IN (
        SELECT tenant, session_id
        FROM scopes
        WHERE startsWith(source, 'urn:ctxledger:import:')
            AND (tenant, session_id) IN (
                SELECT p.1, p.2
                FROM (SELECT arrayJoin(arrayZip({tenants:Array(String)}, {sessions:Array(String)})) AS p))
        GROUP BY
            tenant, session_id,
            splitByString(':counts:', splitByString(':from:', splitByChar(';', toString(source))[1])[1])[1]
        HAVING uniqExact(source) > 1)
GROUP BY tenant, session_id, source
