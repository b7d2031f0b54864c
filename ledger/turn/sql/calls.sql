SELECT tenant, turn_id, thread_id, call_id, ifNull(sequence, toInt64(stream_seq)) AS place, lineage_id, window_first, window_next, model, window_tokens, cache_read, output,
    JSONExtractBool(metadata, 'synthetic') AS synthetic
FROM calls
PREWHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND session_id = {session_id:String}
    AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
ORDER BY output DESC NULLS LAST, recorded_at, stream_seq
