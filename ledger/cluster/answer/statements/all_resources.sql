SELECT toString(tenant) AS tenant, session_id, run_id, toString(record_kind) AS record_kind, record_id
FROM scopes
UNION ALL
SELECT tenant, char(0), '', 'resource_resolved', id
FROM {elsewhere}
WHERE kind = 'resource'
