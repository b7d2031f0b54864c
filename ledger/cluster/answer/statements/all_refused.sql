refused AS
(
    SELECT tenant, source, session_id, number
    FROM refused_here
    WHERE session_id NOT IN (SELECT arrayJoin(JSONExtract({moved:String}, 'Array(String)')))
    UNION ALL
    SELECT r.1, r.2, r.3, r.4
    FROM
    (
        SELECT arrayJoin(JSONExtract({strays:String}, 'Array(Tuple(
            Tenant String, Source String, Session String, Number UInt64))')) AS r
    )
),
