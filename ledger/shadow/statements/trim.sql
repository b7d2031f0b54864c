ALTER TABLE {rebuilt:Identifier}.{table:Identifier}
DELETE WHERE incarnation = {incarnation:UUID} AND stream_seq > {through:UInt64}
