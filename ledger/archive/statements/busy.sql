SELECT count()
FROM system.backups
WHERE status IN ('CREATING_BACKUP', 'RESTORING') AND position(name, {name:String}) > 0
