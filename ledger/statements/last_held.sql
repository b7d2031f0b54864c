SELECT max(stream_seq)
FROM merge(currentDatabase(), {tables:String})
WHERE incarnation = {incarnation:UUID}
    AND stream_seq > {after:UInt64}
    AND recorded_at >= toStartOfMonth({from:DateTime64(9, 'UTC')})
