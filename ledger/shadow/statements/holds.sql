SELECT count() > 0
FROM (SELECT 1 FROM {table:Identifier} WHERE incarnation = {incarnation:UUID} LIMIT 1)
