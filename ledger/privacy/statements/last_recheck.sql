SELECT pass, session_id, incarnation, stream_seq, events, found, finished
FROM rechecks FINAL
WHERE tenant = {tenant:String} AND fingerprints = {fingerprints:String}
ORDER BY pass DESC
LIMIT 1
