SELECT toString(tenant), subject, recorded_at, stream_seq
FROM events
WHERE event_type = 'context.redaction.revoked'
