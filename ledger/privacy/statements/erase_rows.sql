ALTER TABLE {table:Identifier}
DELETE WHERE incarnation = {incarnation:UUID} AND stream_seq IN {sequences:Array(UInt64)}
