ALTER TABLE commits
UPDATE
    digest = toFixedString('', 32),
    rows = CAST(
        mapFilter(
            (name, n) -> n > 0,
            mapFromArrays(
                {tables:Array(String)},
                arrayElement({counts:Array(Array(UInt64))}, indexOf({firsts:Array(UInt64)}, first_seq)))) AS
        Map(LowCardinality(String), UInt64))
WHERE incarnation = {incarnation:UUID} AND has({firsts:Array(UInt64)}, first_seq)
