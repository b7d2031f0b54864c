SELECT tenant
FROM events
WHERE tenant != ''
GROUP BY tenant
ORDER BY count() DESC, tenant
