SELECT item_refs, outcomes, tokens, reasons
FROM decisions
PREWHERE tenant = {tenant:String} AND session_id = {session_id:String} AND record_kind = 'selection_completed' AND call_id = {call_id:String}
    AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
