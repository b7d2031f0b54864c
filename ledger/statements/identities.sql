SELECT identity
FROM events
WHERE NOT has({except:Array(UUID)}, incarnation)
