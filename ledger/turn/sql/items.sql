SELECT item_id, title, layer, token_estimate, redaction_state, sequence, stream_seq
FROM items
PREWHERE tenant = {tenant:String} AND session_id = {session_id:String} AND change != 'removed'
    AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
