SELECT count(), min(stream_seq)
FROM log_hashes
WHERE incarnation = {incarnation:UUID}
