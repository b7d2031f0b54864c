KILL QUERY
WHERE query_kind IN ('Backup', 'Restore') AND position(query, {name:String}) > 0 ASYNC
