SELECT tenant, session_id, source, max(event_time) AS reach, min(recorded_at) AS begun
FROM events
WHERE startsWith(source, 'urn:ctxledger:import:')
    AND (tenant, session_id) IN (
        SELECT tenant, session_id
        FROM scopes
        WHERE startsWith(source, 'urn:ctxledger:import:')
            AND (tenant, session_id) IN (
                SELECT p.1, p.2
                FROM (SELECT arrayJoin(arrayZip({tenants:Array(String)}, {sessions:Array(String)})) AS p))
        GROUP BY tenant, session_id, splitByChar(';', toString(source))[1]
        HAVING uniqExact(source) > 1)
GROUP BY tenant, session_id, source
