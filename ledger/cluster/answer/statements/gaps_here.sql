SELECT DISTINCT sipHash64(tenant, missing_id)
FROM missing
WHERE {session:String} = '' OR session_id = {session:String}
