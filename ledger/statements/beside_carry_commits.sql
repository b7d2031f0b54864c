INSERT INTO {beside:Identifier}.commits
SELECT * FROM commits FINAL
WHERE indexOf({incarnations:Array(UUID)}, incarnation) = 0
