-- The statements that make the comments of relations and of their columns what they are to be,
-- none where they are. A column '' stands for the relation itself. What is not there is left out.
-- ALTER takes no parameters: the server quotes the text.
WITH
wanted AS
(
    SELECT one.1 AS relation, one.2 AS name, one.3 AS text
    FROM (SELECT arrayJoin(arrayZip(@relations, @columns, @comments)) AS one)
),
found AS
(
    SELECT table AS relation, name, comment
    FROM system.columns
    WHERE database = currentDatabase()
    UNION ALL
    SELECT name, '', comment
    FROM system.tables
    WHERE database = currentDatabase()
),
changes AS
(
    SELECT concat('ALTER TABLE `', relation, '` ', arrayStringConcat(groupArray(concat(
        if(name = '', 'MODIFY COMMENT ', concat('COMMENT COLUMN `', name, '` ')),
        substring(toString([text]), 2, length(toString([text])) - 2))), ', ')) AS change
    FROM wanted
    INNER JOIN found USING (relation, name)
    WHERE comment != text
    GROUP BY relation
)
SELECT arraySort(groupArray(change))
FROM changes
