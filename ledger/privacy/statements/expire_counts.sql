ALTER TABLE commits
UPDATE rows = mapFilter((name, n) -> NOT has({tables:Array(String)}, name), rows)
WHERE NOT arrayExists(
        (i, first) -> incarnation = i AND first_seq >= first,
        {incarnations:Array(UUID)}, {firsts:Array(UInt64)})
    AND arrayExists(name -> has({tables:Array(String)}, name), mapKeys(rows))
