SELECT
    recorded_at, toString(incarnation) AS incarnation, stream_seq, event_time, turn_id, call_id, 12 AS step_order,
    ifNull(sequence, toInt64(stream_seq)) AS place, 'seen' AS step, call_id AS record_id,
    'projected from the item log' AS note
FROM calls
PREWHERE session_id = {session_id:String}
    AND tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND {position:Int64} >= window_first
    AND {position:Int64} < window_next
    AND thread_id = {thread_id:String}
    AND NOT JSONExtractBool(metadata, 'synthetic')
    AND recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC')
ORDER BY
    multiIf(
        fidelity = 'wire', 1, fidelity = 'serialized', 2, fidelity = 'stated', 3, fidelity = 'reported', 4,
        fidelity = 'reconstructed' OR startsWith(source, 'urn:ctxledger:import:'), 5, fidelity = '', 3, 6),
    has({retold:Array(String)}, source),
    output DESC NULLS LAST, recorded_at, stream_seq
LIMIT 1 BY tenant, attempt_id, call_id
