INSERT INTO definitions
SELECT one.1, one.2
FROM (SELECT arrayJoin(arrayZip(@names, @digests)) AS one)
