SELECT count()
FROM {table:Identifier}
WHERE incarnation = {incarnation:UUID} AND stream_seq IN {sequences:Array(UInt64)}
