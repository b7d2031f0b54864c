SELECT status, error, bytes_read, total_size
FROM system.backups
WHERE id = {id:String}
