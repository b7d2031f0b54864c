SELECT groupUniqArray(toString(_table))
FROM merge(currentDatabase(), {tables:String})
WHERE incarnation = {incarnation:UUID} AND stream_seq > {through:UInt64}
