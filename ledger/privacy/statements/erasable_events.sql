SELECT
    e.incarnation, e.stream_seq, e.recorded_at, e.tenant, e.session_id, l.leaf, e.kept,
    e.source, e.sequence, e.run_id, e.turn_id, e.item
FROM
(
    SELECT
        incarnation, stream_seq, recorded_at, toString(tenant) AS tenant, session_id,
        toString(source) AS source, sequence, run_id, turn_id, has({kept:Array(String)}, toString(event_type)) AS kept,
        if(startsWith(event_type, {item_types:String}), JSONExtractString(data, 'item_id'), '') AS item
    FROM events FINAL
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND (
            {kind:String} = 'resource' AND resource_id = {id:String}
                OR {kind:String} = 'session' AND session_id = {id:String}
                OR {kind:String} = 'run' AND run_id = {id:String}
                OR {kind:String} = 'thread' AND thread_id = {id:String}
                OR {kind:String} = 'item' AND subject = {id:String} AND startsWith(event_type, {item_types:String}))
) AS e
LEFT ANY JOIN
(
    SELECT incarnation, stream_seq, hex(hash) AS leaf
    FROM log_hashes
    WHERE stream_seq IN
    (
        SELECT stream_seq
        FROM events
        WHERE {kind:String} = 'resource' AND resource_id = {id:String}
            OR {kind:String} = 'session' AND session_id = {id:String}
            OR {kind:String} = 'run' AND run_id = {id:String}
            OR {kind:String} = 'thread' AND thread_id = {id:String}
            OR {kind:String} = 'item' AND subject = {id:String}
    )
) AS l
    ON l.incarnation = e.incarnation AND l.stream_seq = e.stream_seq
ORDER BY e.incarnation, e.stream_seq
SETTINGS do_not_merge_across_partitions_select_final = 1
