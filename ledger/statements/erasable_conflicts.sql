SELECT incarnation, stream_seq
FROM quarantine
WHERE code = {code:String} AND (source, event_id) IN
    (
        SELECT toString(source), event_id FROM events
        WHERE NOT has({kept:Array(String)}, toString(event_type))
            AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND ({kind:String} = 'resource' AND resource_id = {id:String}
                OR {kind:String} = 'session' AND session_id = {id:String}
                OR {kind:String} = 'run' AND run_id = {id:String}
                OR {kind:String} = 'thread' AND thread_id = {id:String}
                OR {kind:String} = 'item' AND subject = {id:String} AND startsWith(event_type, {item_types:String}))
    )
