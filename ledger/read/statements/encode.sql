SELECT {columns}
FROM
(
    SELECT arrayJoin(JSONExtract('{rows}', 'Array(Tuple({types}))')) AS r
)
