SELECT
    ifNull(position, 0) AS position, log_item_id, role, item_type, name, item_ref, tokens, content_digest, tool_call_id,
    attempt_id
FROM log_items
PREWHERE session_id = {session_id:String}
    AND tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND thread_id = {thread_id:String}
    AND position >= {first:Int64}
    AND position < {next:Int64}
    AND NOT has({retold:Array(String)}, source)
    AND recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
LIMIT 1 BY incarnation, stream_seq
