INSERT INTO migrations
SELECT one.1, one.2
FROM (SELECT arrayJoin(arrayZip(@versions, @names)) AS one)
