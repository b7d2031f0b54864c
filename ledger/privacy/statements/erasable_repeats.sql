SELECT incarnation, stream_seq, recorded_at, toString(tenant), first_incarnation, first_seq
FROM duplicates FINAL
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND (
        (first_incarnation, first_seq) IN
        (
            SELECT incarnation, stream_seq
            FROM events
            WHERE NOT has({kept:Array(String)}, toString(event_type))
                AND (
                    {kind:String} = 'resource' AND resource_id = {id:String}
                        OR {kind:String} = 'session' AND session_id = {id:String}
                        OR {kind:String} = 'run' AND run_id = {id:String}
                        OR {kind:String} = 'thread' AND thread_id = {id:String}
                        OR {kind:String} = 'item'
                            AND subject = {id:String}
                            AND startsWith(event_type, {item_types:String}))
        )
            OR (first_incarnation, first_seq) NOT IN
            (
                SELECT incarnation, stream_seq
                FROM events
                WHERE stream_seq IN (SELECT first_seq FROM duplicates)
            ))
ORDER BY incarnation, stream_seq
