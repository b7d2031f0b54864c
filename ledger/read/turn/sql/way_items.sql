SELECT
    recorded_at, toString(incarnation) AS incarnation, stream_seq, event_time, turn_id, change AS step,
    item_id AS record_id, token_estimate AS tokens_before, token_estimate AS tokens_after,
    multiIf(reason != '', reason, redaction_state = 'none', '', toString(redaction_state)) AS reason,
    if(title = '', toString(context_kind), title) AS note,
    arrayStringConcat(policy_refs, ', ') AS policy, arrayStringConcat(source_uris, ', ') AS stand_in, tenant, source
FROM items
PREWHERE session_id = {session_id:String}
    AND tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND item_id = {item_id:String}
    AND recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
