SELECT recorded_at, toString(incarnation) AS incarnation, stream_seq, event_time, turn_id, call_id, record_kind, record_id, assembly_id,
    ifNull(block_positions[arrayFirstIndex(x -> has(x, {item_id:String}), block_items) AS block], toInt64(block) - 1) AS place, block_tokens[block] AS tokens, toString(block_redactions[block]) AS redaction, toString(block_layers[block]) AS layer,
    removed_by_pass, concat(toString(injection_kind), if(injection_point = '', '', concat(' at ', toString(injection_point)))) AS injected, target, replaced_by, has(item_refs, {item_id:String}) AS named
FROM placements
PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String}
    AND (record_kind = 'assembly' AND arrayExists(x -> has(x, {item_id:String}), block_items) OR record_kind IN ('injection', 'removal'))
    AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
