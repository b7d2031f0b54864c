SELECT
    recorded_at, incarnation, stream_seq, event_time, turn_id, call_id, sequence, record_kind, change, record_id,
    trigger, elided_refs, elided_tool_call_ids, elided_positions, elided_before, elided_after, elided_levels,
    elided_reload_refs, level, policy, tokens_before, tokens_after, loss_notes, method, summary_ref,
    has(source_item_refs, {item_id:String}) AS named, has(retained_tail_refs, {item_id:String}) AS kept,
    first_position, last_position, thread_id, source_thread_id, tenant, source
FROM replacements
PREWHERE session_id = {session_id:String}
    AND tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND record_kind IN ('elision', 'compaction')
    AND recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
