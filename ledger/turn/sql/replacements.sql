SELECT record_kind, change = 'applied' AS applied, ifNull(sequence, toInt64(stream_seq)) AS place, record_id, level, elided_refs, elided_tool_call_ids, elided_before, elided_after, elided_levels, elided_reload_refs,
    ifNull(first_position, -1) AS first, ifNull(last_position, -1) AS last, retained_tail_refs
FROM replacements
PREWHERE tenant = {tenant:String} AND session_id = {session_id:String} AND (record_kind = 'elision' OR record_kind = 'compaction' AND change = 'completed')
    AND if(record_kind = 'compaction' AND source_thread_id != '', source_thread_id, thread_id) = {thread_id:String}
    AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
