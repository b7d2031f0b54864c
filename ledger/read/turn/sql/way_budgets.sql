SELECT
    recorded_at, toString(incarnation) AS incarnation, stream_seq, event_time, turn_id, call_id, 5 AS step_order,
    'shortened' AS step, record_id, truncated_before[indexOf(truncated_refs, {item_id:String}) AS cut] AS tokens_before,
    truncated_after[cut] AS tokens_after, toString(truncated_strategies[cut]) AS reason, overflow_strategy AS policy
FROM windows
PREWHERE session_id = {session_id:String}
    AND tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND record_kind = 'budget'
    AND has(truncated_refs, {item_id:String})
    AND recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
