SELECT toString(tenant), source, event_id, incarnation, stream_seq, recorded_at, digest
FROM events
WHERE identity IN {identities:Array(UInt64)}
ORDER BY recorded_at, stream_seq
