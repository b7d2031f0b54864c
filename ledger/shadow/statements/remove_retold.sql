DELETE FROM retold
WHERE (tenant, session_id) IN (SELECT tenant, session_id FROM events WHERE incarnation = {incarnation:UUID})
