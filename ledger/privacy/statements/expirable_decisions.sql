SELECT count()
FROM {table:Identifier}
WHERE recorded_at < {before:DateTime64(9, 'UTC')}
    AND (empty({only:Array(String)}) OR has({only:Array(String)}, toString(tenant)))
    AND NOT has({except:Array(String)}, toString(tenant))
    AND NOT arrayExists(
        (i, first) -> incarnation = i AND stream_seq >= first,
        {incarnations:Array(UUID)}, {firsts:Array(UInt64)})
    AND (
        session_id = ''
            OR (tenant, session_id) NOT IN (
                SELECT tenant, session_id
                FROM events
                WHERE recorded_at >= {before:DateTime64(9, 'UTC')}))
