WITH least(free_space, unreserved_space) AS room
SELECT name, total_space, toUInt64(if(room > keep_free_space, room - keep_free_space, 0))
FROM system.disks
ORDER BY name
