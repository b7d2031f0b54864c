SELECT status, error, files_read, num_files, bytes_read, total_size
FROM system.backups
WHERE id = {id:String}
