SELECT tenant, count(), countIf(recorded_at >= now() - INTERVAL 1 DAY)
FROM events
GROUP BY tenant
ORDER BY count() DESC, tenant
