SELECT toString(tenant) AS tenant, item_id, session_id
FROM items
WHERE (tenant, item_id) IN (SELECT tenant, offered_by FROM accepted)
UNION ALL
SELECT tenant, id, char(0)
FROM {elsewhere}
WHERE kind = 'offer'
