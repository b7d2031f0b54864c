SELECT state, ids, migrations
FROM {beside:Identifier}.rebuild_state
ORDER BY at DESC
LIMIT 1
