-- A projector that writes the row of an event before it refuses it.
INSERT INTO items
SELECT * REPLACE({sequences:Array(UInt64)}[1] AS stream_seq)
FROM items
WHERE tenant = {tenant:String} AND session_id = {session_id:String}
LIMIT 1
