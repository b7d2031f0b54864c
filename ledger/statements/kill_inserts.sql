KILL QUERY WHERE startsWith(query_id, {prefix:String}) AND current_database = currentDatabase() ASYNC
