SELECT tenant, session_id, count() AS events, min(recorded_at) AS first_at, max(recorded_at) AS last_at
FROM events FINAL
WHERE ({tenant:String} = '' OR tenant = {tenant:String})
    AND ({session:String} = '' OR session_id = {session:String})
    AND ({turn:String} = '' OR turn_id = {turn:String})
    AND ({run:String} = '' OR run_id = {run:String})
GROUP BY tenant, session_id
ORDER BY last_at DESC, tenant, session_id
LIMIT {limit:UInt32}
SETTINGS do_not_merge_across_partitions_select_final = 1
