SELECT model, max_tokens, reserved_tokens, truncated_refs, truncated_before, truncated_after, truncated_strategies
FROM windows
PREWHERE session_id = {session_id:String}
    AND tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND record_kind = 'budget'
    AND attempt_id = {attempt_id:String}
    AND call_id = {call_id:String}
    AND recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
LIMIT 1 BY incarnation, stream_seq
