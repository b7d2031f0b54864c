SELECT toString(_table) AS table, count()
FROM merge({rebuilt:String}, {tables:String})
WHERE incarnation = {incarnation:UUID}
GROUP BY table
ORDER BY table
