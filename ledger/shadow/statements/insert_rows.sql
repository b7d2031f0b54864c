INSERT INTO {rebuilt:Identifier}.{table:Identifier}
