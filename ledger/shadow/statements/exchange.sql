EXCHANGE TABLES {database:Identifier}.{table:Identifier} AND {rebuilt:Identifier}.{other:Identifier}
