SELECT DISTINCT 'sealer', toString(tenant), toString(source)
FROM events
WHERE session_id != '' AND (tenant, source) NOT IN (SELECT tenant, source FROM sealed)
