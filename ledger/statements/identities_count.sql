SELECT count()
FROM events
WHERE NOT has({except:Array(UUID)}, incarnation)
