SELECT toString(tenant) AS tenant, session_id, toString(source) AS source, toString(record_kind) AS record_kind
FROM scopes
UNION ALL
SELECT tenant, char(0), id, 'envelope'
FROM {elsewhere}
WHERE kind = 'sealer'
