SELECT recorded_at, toString(incarnation) AS incarnation, stream_seq, event_time, turn_id, call_id, if(elision, 8, 9) AS step_order, place, multiIf(NOT elision, 'compacted', change = 'reloaded', 'reloaded', 'elided') AS step, record_id, elided_positions[at] AS position,
    if(elision, elided_before[at], tokens_before) AS tokens_before, if(elision, elided_after[at], tokens_after) AS tokens_after, toString(trigger) AS reason,
    if(elision, toString(if(elided_levels[at] = '', level, elided_levels[at])), arrayStringConcat(loss_notes, ' · ')) AS note, toString(if(elision, policy, method)) AS policy,
    if(elision, elided_reload_refs[at], summary_ref) AS stand_in
FROM
(
    SELECT *, record_kind = 'elision' AS elision, ifNull(sequence, toInt64(stream_seq)) AS place,
        greatest(indexOf(elided_refs, {item_id:String}), if({tool_call_id:String} = '', 0, indexOf(elided_tool_call_ids, {tool_call_id:String}))) AS at
    FROM replacements
    PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String} AND record_kind IN ('elision', 'compaction')
        AND if(record_kind = 'elision', has(elided_refs, {item_id:String}) OR {tool_call_id:String} != '' AND has(elided_tool_call_ids, {tool_call_id:String}),
            change = 'completed' AND (has(source_item_refs, {item_id:String}) OR {position:Int64} BETWEEN first_position AND last_position AND if(source_thread_id = '', thread_id, source_thread_id) = {thread_id:String})
                AND NOT has(retained_tail_refs, {item_id:String}))
        AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
)
