ALTER TABLE {rebuilt:Identifier}.commits
DELETE WHERE incarnation = {incarnation:UUID} AND last_seq > {through:UInt64}
