SELECT sum(bytes_on_disk)
FROM system.parts
WHERE database = {database:String} AND active
