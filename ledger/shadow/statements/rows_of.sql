SELECT *
FROM {table:Identifier} FINAL
WHERE incarnation IN {incarnations:Array(UUID)}
