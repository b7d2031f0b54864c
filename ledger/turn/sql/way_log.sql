SELECT recorded_at, toString(incarnation) AS incarnation, stream_seq, event_time, turn_id, call_id, log_item_id, position, tokens, item_type, thread_id, tool_call_id
FROM log_items
PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String} AND {item_id:String} IN (log_item_id, item_ref)
    AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
