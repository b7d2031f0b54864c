KILL QUERY WHERE startsWith(query_id, {prefix:String}) ASYNC
