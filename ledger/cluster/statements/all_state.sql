SELECT
    d.comment AS comment,
    (SELECT count() FROM system.tables WHERE database = {all:String} AND engine != 'Distributed') AS others
FROM system.databases AS d
WHERE d.name = {all:String}
