SELECT DISTINCT 'resource', toString(tenant), binding_id
FROM named
WHERE (tenant, binding_id) NOT IN (SELECT tenant, binding_id FROM resources)
UNION ALL
SELECT DISTINCT 'offer', toString(tenant), offered_by
FROM accepted
WHERE (tenant, offered_by) NOT IN (SELECT tenant, offered_by FROM offers)
