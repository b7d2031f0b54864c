INSERT INTO {rebuilt:Identifier}.retold
SELECT *
FROM retold FINAL
