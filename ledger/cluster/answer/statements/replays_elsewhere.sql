SELECT if(tenant = '', 'default', toString(tenant)) AS whose, of_incarnation, of_seq, stream_seq, recorded_at, outcome
FROM quarantine_replays
WHERE of_incarnation NOT IN (SELECT incarnation FROM commits)
