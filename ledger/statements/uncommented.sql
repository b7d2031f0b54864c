-- The statements that make the comments of relations and of their columns what they
-- are to be, none where they are. A column '' stands for the relation itself; what is
-- not there is left out. ALTER takes no parameters: the server quotes the text.
SELECT concat('ALTER TABLE `', relation, '` ', arrayStringConcat(groupArray(concat(
    if(name = '', 'MODIFY COMMENT ', concat('COMMENT COLUMN `', name, '` ')),
    substring(toString([text]), 2, length(toString([text])) - 2))), ', '))
FROM (
    SELECT one.1 AS relation, one.2 AS name, one.3 AS text
    FROM (SELECT arrayJoin(arrayZip({relations:Array(String)}, {columns:Array(String)}, {comments:Array(String)})) AS one)
) AS wanted
INNER JOIN (
    SELECT table AS relation, name, comment FROM system.columns WHERE database = currentDatabase()
    UNION ALL
    SELECT name, '', comment FROM system.tables WHERE database = currentDatabase()
) AS found USING (relation, name)
WHERE comment != text
GROUP BY relation
ORDER BY relation
