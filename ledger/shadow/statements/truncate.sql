TRUNCATE TABLE {database:Identifier}.{table:Identifier} SYNC
