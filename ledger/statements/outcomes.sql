SELECT
    (SELECT count() FROM events WHERE incarnation = {incarnation:UUID} AND stream_seq BETWEEN {first:UInt64} AND {last:UInt64}),
    (SELECT count() FROM duplicates WHERE incarnation = {incarnation:UUID} AND stream_seq BETWEEN {first:UInt64} AND {last:UInt64}),
    (SELECT count() FROM quarantine WHERE incarnation = {incarnation:UUID} AND stream_seq BETWEEN {first:UInt64} AND {last:UInt64})
