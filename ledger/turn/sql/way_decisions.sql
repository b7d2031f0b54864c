SELECT recorded_at, toString(incarnation) AS incarnation, stream_seq, event_time, turn_id, call_id, multiIf(surface, 2, decided = 0, 3, 4) AS step_order, multiIf(surface, 'available', decided = 0, 'considered', toString(outcomes[decided])) AS step,
    if(surface, surface_id, record_id) AS record_id, if(surface, toNullable(toInt64(indexOf(candidate_refs, {item_id:String})) - 1), NULL) AS position,
    ranks[decided] AS rank, scores[decided] AS score, tokens[decided] AS tokens_before, tokens[decided] AS tokens_after, toString(reasons[decided]) AS reason,
    multiIf(surface, toString(surface_kind), decided > 0, notes[decided], query = '', intent, query) AS note, policy, if(surface, '', surface_id) AS stand_in,
    CAST(signals[decided], 'Map(String, Float64)') AS signals
FROM
(
    SELECT recorded_at, incarnation, stream_seq, event_time, turn_id, call_id, record_id, surface_id, surface_kind, candidate_refs, outcomes, ranks, scores, tokens, reasons, notes, query, intent, policy, signals,
        startsWith(record_kind, 'surface') AS surface, if(record_kind = 'selection_completed', indexOf(item_refs, {item_id:String}), 0) AS decided
    FROM decisions
    PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String}
        AND if(record_kind = 'selection_completed' AND has(item_refs, {item_id:String}), 1, has(candidate_refs, {item_id:String}) AND (startsWith(record_kind, 'surface') OR NOT has(item_refs, {item_id:String})))
        AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
)
