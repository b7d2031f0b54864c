SELECT
    recorded_at, toString(incarnation) AS incarnation, stream_seq, event_time, turn_id, call_id, 10 AS step_order,
    'redacted' AS step, record_id, reason,
    concat(toString(redaction_state), if(method = '', '', concat(' by ', toString(method)))) AS note,
    arrayStringConcat(policy_refs, ', ') AS policy, replacement_ref AS stand_in
FROM redactions
PREWHERE session_id = {session_id:String}
    AND tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND target_ref = {item_id:String}
    AND recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
