SELECT DISTINCT s.1 AS source, r[1] AS first, r[2] AS last
FROM
(
    SELECT arrayJoin(JSONExtract(data, 'sequences', 'Array(Tuple(source String, ranges Array(Array(Int64))))')) AS s
    FROM events FINAL
    WHERE tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
        AND session_id = {session:String}
        AND event_type = {type:String}
        AND ({turn:String} = '' OR turn_id = {turn:String})
        AND ({run:String} = '' OR run_id = {run:String})
        AND ({task:String} = '' OR task_id = {task:String})
        AND ({attempt:String} = '' OR attempt_id = {attempt:String})
        AND has({kinds:Array(String)}, JSONExtractString(data, 'scope'))
)
ARRAY JOIN s.2 AS r
WHERE length(r) = 2 AND r[1] <= r[2]
ORDER BY source, first, last
SETTINGS do_not_merge_across_partitions_select_final = 1
