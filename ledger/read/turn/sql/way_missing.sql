SELECT
    recorded_at, toString(incarnation) AS incarnation, stream_seq, event_time, turn_id, call_id, 11 AS step_order,
    concat('missing ', toString(change)) AS step, missing_id AS record_id, toString(status) AS reason, question AS note,
    severity AS policy, requested_from AS stand_in, has(candidate_item_refs, {item_id:String}) AS named
FROM missing
PREWHERE session_id = {session_id:String}
    AND tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
