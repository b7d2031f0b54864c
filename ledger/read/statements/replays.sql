SELECT incarnation, stream_seq, recorded_at, outcome
FROM quarantine_replays
WHERE of_incarnation = {incarnation:UUID}
    AND of_seq = {sequence:UInt64}
    AND ({tenant:String} = '' OR if(tenant = '', 'default', tenant) = {tenant:String})
ORDER BY recorded_at, stream_seq
