DROP TABLE IF EXISTS {rebuilt:Identifier}.{table:Identifier} SYNC
