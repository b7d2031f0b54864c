SELECT
    record_kind, change, thread_id, source_thread_id, sequence, stream_seq, record_id, level, elided_refs,
    elided_tool_call_ids, elided_before, elided_after, elided_levels, elided_reload_refs,
    first_position, last_position, retained_tail_refs, attempt_id
FROM replacements
PREWHERE session_id = {session_id:String}
    AND tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND record_kind IN ('elision', 'compaction')
    AND NOT has({retold:Array(String)}, source)
    AND recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
