INSERT INTO {rebuilt:Identifier}.{table:Identifier}
SELECT *
FROM {table:Identifier} FINAL
WHERE indexOf({incarnations:Array(UUID)}, incarnation) = 0
    OR stream_seq < {firsts:Array(UInt64)}[indexOf({incarnations:Array(UUID)}, incarnation)]
