SELECT incarnation, stream_seq, recorded_at, event_time, event_id, source, event_type, tenant, session_id, turn_id, data
FROM events FINAL
WHERE tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND session_id = {session:String}
    AND event_type IN ('context.item.added', 'context.item.updated', 'context.assembly.created')
    AND (position(data, '"content"') > 0 OR position(data, {text_ref:String}) > 0)
    AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
    AND (
        has({ids:Array(String)}, JSONExtractString(data, 'item_id'))
            OR has({ids:Array(String)}, JSONExtractString(data, 'assembly_id')))
ORDER BY recorded_at, stream_seq
SETTINGS do_not_merge_across_partitions_select_final = 1
