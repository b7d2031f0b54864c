SELECT item_refs, outcomes, tokens, reasons
FROM decisions
PREWHERE session_id = {session_id:String}
    AND tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND record_kind = 'selection_completed'
    AND attempt_id = {attempt_id:String}
    AND call_id = {call_id:String}
    AND recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
