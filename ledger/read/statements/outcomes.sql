SELECT
    (
        SELECT count()
        FROM events FINAL
        WHERE incarnation = {incarnation:UUID} AND stream_seq BETWEEN {first:UInt64} AND {last:UInt64}
    ),
    (
        SELECT count()
        FROM duplicates FINAL
        WHERE incarnation = {incarnation:UUID} AND stream_seq BETWEEN {first:UInt64} AND {last:UInt64}
    ),
    (
        SELECT count()
        FROM quarantine FINAL
        WHERE incarnation = {incarnation:UUID} AND stream_seq BETWEEN {first:UInt64} AND {last:UInt64}
    )
