DELETE FROM {table:Identifier}
WHERE incarnation IN {incarnations:Array(UUID)}
