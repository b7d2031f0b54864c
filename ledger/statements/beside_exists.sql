SELECT count()
FROM system.tables
WHERE database = {beside:String} AND name = 'rebuild_state'
