EXCHANGE TABLES {database:Identifier}.{table:Identifier} AND {beside:Identifier}.{other:Identifier}
