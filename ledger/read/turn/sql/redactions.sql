SELECT target_ref, redaction_state, policy_refs, replacement_ref
FROM redactions
PREWHERE session_id = {session_id:String}
    AND tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
LIMIT 1 BY incarnation, stream_seq
