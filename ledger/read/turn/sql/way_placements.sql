SELECT
    recorded_at, incarnation, stream_seq, event_time, turn_id, call_id, record_kind, record_id, assembly_id,
    removed_by_pass, injection_kind, injection_point, target, replaced_by,
    arrayFirstIndex(x -> has(x, {item_id:String}), block_items) AS block, block_positions[block] AS position,
    block_tokens[block] AS tokens, block_redactions[block] AS redaction, block_layers[block] AS layer,
    has(item_refs, {item_id:String}) AS named, tenant, source, attempt_id, base_assembly_id, keep
FROM placements
PREWHERE session_id = {session_id:String}
    AND tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND (record_kind IN ('injection', 'removal') OR arrayExists(x -> has(x, {item_id:String}), block_items))
    AND recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
