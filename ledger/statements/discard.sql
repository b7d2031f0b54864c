DELETE FROM {table:Identifier}
WHERE incarnation = {incarnation:UUID}
    AND stream_seq BETWEEN {first:UInt64} AND {last:UInt64}
    AND stream_seq NOT IN {except:Array(UInt64)}
