DELETE FROM {table:Identifier}
WHERE incarnation = {incarnation:UUID}
