SELECT count()
FROM system.tables
WHERE database = {rebuilt:String} AND name = 'rebuild_state'
