(
    SELECT r.1 AS kind, r.2 AS tenant, r.3 AS id
    FROM (SELECT arrayJoin(JSONExtract({elsewhere:String}, 'Array(Tuple(Kind String, Tenant String, ID String))')) AS r)
)
