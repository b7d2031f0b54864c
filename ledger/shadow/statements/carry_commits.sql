INSERT INTO {rebuilt:Identifier}.commits
SELECT * REPLACE (greatest(writer_rules, toUInt32({rules:UInt32})) AS writer_rules)
FROM commits FINAL
WHERE indexOf({incarnations:Array(UUID)}, incarnation) = 0
