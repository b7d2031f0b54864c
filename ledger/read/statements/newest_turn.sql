-- The turn of the newest window, by its assembly or its model call.
SELECT turn_id, session_id, tenant, recorded_at
FROM
(
    SELECT turn_id, session_id, tenant, recorded_at, stream_seq
    FROM calls
    WHERE turn_id != ''
        AND window_first IS NOT NULL
        AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session:String} = '' OR session_id = {session:String})
    UNION ALL
    SELECT turn_id, session_id, tenant, recorded_at, stream_seq
    FROM placements
    WHERE turn_id != ''
        AND event_type = 'context.assembly.created'
        AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session:String} = '' OR session_id = {session:String})
)
ORDER BY recorded_at DESC, stream_seq DESC
LIMIT 1
