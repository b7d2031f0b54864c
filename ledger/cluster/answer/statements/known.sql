WITH asked AS
(
    SELECT r.1 AS kind, r.2 AS tenant, r.3 AS id
    FROM (SELECT arrayJoin(JSONExtract({asked:String}, 'Array(Tuple(Kind String, Tenant String, ID String))')) AS r)
)
SELECT DISTINCT 'resource', toString(tenant), record_id
FROM scopes
WHERE record_kind = 'resource_resolved'
    AND (tenant, record_id) IN (SELECT tenant, id FROM asked WHERE kind = 'resource')
UNION ALL
SELECT DISTINCT 'offer', toString(tenant), item_id
FROM items
WHERE (tenant, item_id) IN (SELECT tenant, id FROM asked WHERE kind = 'offer')
UNION ALL
SELECT DISTINCT 'sealer', toString(tenant), toString(source)
FROM scopes
WHERE record_kind = 'envelope'
    AND (tenant, source) IN (SELECT tenant, id FROM asked WHERE kind = 'sealer')
