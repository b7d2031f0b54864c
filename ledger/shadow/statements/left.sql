SELECT *
FROM {table:Identifier} FINAL
WHERE incarnation IN {incarnations:Array(UUID)}
    AND stream_seq < {firsts:Array(UInt64)}[indexOf({incarnations:Array(UUID)}, incarnation)]
