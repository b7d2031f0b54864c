SELECT DISTINCT stream_seq, recorded_at
FROM quarantine
WHERE code = {code:String} AND incarnation = {incarnation:UUID} AND stream_seq BETWEEN {first:UInt64} AND {last:UInt64}
ORDER BY stream_seq
