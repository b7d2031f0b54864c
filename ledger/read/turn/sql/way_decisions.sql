SELECT
    recorded_at, incarnation, stream_seq, event_time, turn_id, call_id, record_kind, record_id, surface_id,
    surface_kind, query, intent, policy, indexOf(candidate_refs, {item_id:String}) AS offered,
    indexOf(item_refs, {item_id:String}) AS decided, outcomes[decided] AS outcome, ranks[decided] AS rank,
    scores[decided] AS score, tokens[decided] AS tokens, reasons[decided] AS reason, notes[decided] AS note,
    signals[decided] AS signals
FROM decisions
PREWHERE session_id = {session_id:String}
    AND tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND (has(candidate_refs, {item_id:String}) OR has(item_refs, {item_id:String}))
    AND recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
