INSERT INTO {table:Identifier}
