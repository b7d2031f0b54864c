SELECT *
FROM {table:Identifier} FINAL
WHERE incarnation = {incarnation:UUID}
