INSERT INTO {database:Identifier}.{table:Identifier}
SELECT *
FROM {rebuilt:Identifier}.{table:Identifier}
