SELECT
    incarnation, stream_seq, recorded_at, tenant, source, event_id, stream_subject, header, data, code, pointer, reason,
    codes
FROM refused_events
WHERE (incarnation = {incarnation:UUID} OR {incarnation:UUID} = toUUID('00000000-0000-0000-0000-000000000000'))
    AND stream_seq BETWEEN {first:UInt64} AND {last:UInt64}
    AND ({code:String} = '' OR code = {code:String})
    AND ({tenant:String} = '' OR tenant = {tenant:String})
    AND (
        {replayed:Bool}
            OR (if(tenant = '', 'default', toString(tenant)), incarnation, stream_seq) NOT IN
            (
                SELECT if(tenant = '', 'default', toString(tenant)), of_incarnation, of_seq
                FROM quarantine_replays
            ))
ORDER BY recorded_at, incarnation, stream_seq
