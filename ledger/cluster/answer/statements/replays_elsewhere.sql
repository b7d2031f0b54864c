-- A tenant's reader may not read commits, which also tell the streams of a shard.
SELECT if(tenant = '', 'default', toString(tenant)) AS whose, of_incarnation, of_seq, stream_seq, recorded_at, outcome
FROM quarantine_replays
WHERE (of_incarnation, of_seq) NOT IN
(
    SELECT incarnation, stream_seq
    FROM quarantine
    WHERE stream_seq IN (SELECT of_seq FROM quarantine_replays)
)
