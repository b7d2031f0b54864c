SELECT state, ids, migrations
FROM {rebuilt:Identifier}.rebuild_state
ORDER BY at DESC
LIMIT 1
