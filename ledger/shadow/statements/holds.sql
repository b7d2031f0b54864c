SELECT count() > 0
FROM (SELECT 1 FROM {table:Identifier} WHERE incarnation IN {incarnations:Array(UUID)} LIMIT 1)
