SELECT count()
FROM system.backups
WHERE status = 'CREATING_BACKUP' AND position(name, {name:String}) > 0
