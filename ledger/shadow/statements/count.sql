SELECT count()
FROM {rebuilt:Identifier}.{table:Identifier}
WHERE incarnation = {incarnation:UUID}
