SELECT tenant, session_id, source
FROM retold FINAL
WHERE (tenant, session_id) IN (
    SELECT p.1, p.2
    FROM (SELECT arrayJoin(arrayZip({tenants:Array(String)}, {sessions:Array(String)})) AS p))
