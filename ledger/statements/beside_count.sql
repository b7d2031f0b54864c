SELECT count()
FROM {beside:Identifier}.{table:Identifier}
WHERE incarnation = {incarnation:UUID}
