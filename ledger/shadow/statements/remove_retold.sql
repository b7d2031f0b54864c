DELETE FROM retold
WHERE (tenant, session_id) IN (SELECT tenant, session_id FROM events WHERE incarnation IN {incarnations:Array(UUID)})
