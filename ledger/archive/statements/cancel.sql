KILL QUERY
WHERE query_kind = 'Backup' AND position(query, {name:String}) > 0 ASYNC
