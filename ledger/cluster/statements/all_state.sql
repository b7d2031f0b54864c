-- The comment of the database, and the number of its tables that are of somebody else.
SELECT
    d.comment AS comment,
    countIf(t.engine != '' AND (t.engine != 'Distributed' OR NOT startsWith(d.comment, {mark:String}))) AS others
FROM system.databases AS d
LEFT JOIN (SELECT database, engine FROM system.tables WHERE database = {all:String}) AS t ON t.database = d.name
WHERE d.name = {all:String}
GROUP BY d.comment
