SELECT *
FROM retold FINAL
WHERE (tenant, session_id) IN (SELECT tenant, session_id FROM events WHERE incarnation IN {incarnations:Array(UUID)})
