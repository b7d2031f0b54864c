-- A quarantine that does not keep the bytes of a message.
INSERT INTO quarantine
SELECT * REPLACE(concat(data, ' ') AS data)
FROM quarantine
WHERE incarnation = {incarnation:UUID} AND has({sequences:Array(UInt64)}, stream_seq)
