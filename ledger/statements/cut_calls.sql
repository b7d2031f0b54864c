SELECT
    tenant, session_id, source, call_id, event_time, recorded_at,
    JSONExtractRaw(provider_usage, 'total_token_usage') AS total,
    toBool(uncached_input IS NOT NULL OR output IS NOT NULL) AS known,
    toBool(JSONExtractBool(metadata, 'begun_before_log')) AS begun, ifNull(output, -1) AS answer,
    toBool(JSONExtractBool(metadata, 'background')) AS bare
FROM calls
WHERE startsWith(source, 'urn:ctxledger:import:')
    AND (tenant, session_id) IN (
        SELECT p.1, p.2
        FROM (SELECT arrayJoin(arrayZip({tenants:Array(String)}, {sessions:Array(String)})) AS p))
ORDER BY tenant, session_id, event_time, stream_seq
LIMIT 1 BY tenant, session_id, incarnation, stream_seq
