DELETE FROM retold
WHERE (tenant, session_id, source) IN (
    SELECT p.1, p.2, p.3
    FROM
    (
        SELECT arrayJoin(
            arrayZip({tenants:Array(String)}, {sessions:Array(String)}, {sources:Array(String)})) AS p
    ))
