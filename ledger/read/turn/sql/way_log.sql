SELECT
    recorded_at, incarnation, stream_seq, event_time, turn_id, call_id, log_item_id, position, tokens, item_type,
    thread_id, tool_call_id, tenant, source
FROM log_items
PREWHERE session_id = {session_id:String}
    AND tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND (log_item_id = {item_id:String} OR item_ref = {item_id:String})
    AND recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
