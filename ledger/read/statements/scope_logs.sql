SELECT incarnation, count(), max(stream_seq)
FROM events FINAL
WHERE tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND session_id = {session:String}
    AND ({turn:String} = '' OR turn_id = {turn:String})
    AND ({run:String} = '' OR run_id = {run:String})
    AND ({task:String} = '' OR task_id = {task:String})
    AND ({attempt:String} = '' OR attempt_id = {attempt:String})
GROUP BY incarnation
ORDER BY min(recorded_at), incarnation
SETTINGS do_not_merge_across_partitions_select_final = 1
