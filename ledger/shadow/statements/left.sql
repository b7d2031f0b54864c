SELECT *
FROM {table:Identifier} FINAL
WHERE incarnation = {incarnations:Array(UUID)}[1] AND stream_seq < {firsts:Array(UInt64)}[1]
