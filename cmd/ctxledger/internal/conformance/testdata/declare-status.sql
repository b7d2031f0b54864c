-- A projector without boundary rule 1.
INSERT INTO events
SELECT * REPLACE('{"run":{"status":"x"},"turn_status": "completed"}' AS data)
FROM events
WHERE tenant = {tenant:String} AND session_id = {session_id:String}
