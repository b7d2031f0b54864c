SELECT *
FROM {table:Identifier}
