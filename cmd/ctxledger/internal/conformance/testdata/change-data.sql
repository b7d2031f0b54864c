-- A projector that does not keep the bytes of an event.
INSERT INTO events
SELECT * REPLACE(concat(data, ' ') AS data)
FROM events
WHERE tenant = {tenant:String} AND session_id = {session_id:String}
