SELECT
    tenant, turn_id, thread_id, attempt_id, call_id, sequence, stream_seq, recorded_at, lineage_id, window_first,
    window_next, model, window_tokens, cache_read, output, metadata, source,
    fidelity, coverage, coverage_reasons
FROM calls
PREWHERE session_id = {session_id:String}
    AND tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
