SELECT item_id, title, layer, token_estimate, redaction_state, sequence, stream_seq
FROM items
PREWHERE session_id = {session_id:String}
    AND tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND change != 'removed'
    AND NOT has({retold:Array(String)}, source)
    AND recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
