SELECT stream_seq, recorded_at, digest
FROM events
WHERE incarnation = {incarnation:UUID} AND stream_seq BETWEEN {first:UInt64} AND {last:UInt64}
UNION ALL
SELECT stream_seq, recorded_at, toFixedString('', 32)
FROM duplicates
WHERE incarnation = {incarnation:UUID} AND stream_seq BETWEEN {first:UInt64} AND {last:UInt64}
UNION ALL
SELECT stream_seq, recorded_at, toFixedString('', 32)
FROM quarantine
WHERE incarnation = {incarnation:UUID} AND stream_seq BETWEEN {first:UInt64} AND {last:UInt64}
