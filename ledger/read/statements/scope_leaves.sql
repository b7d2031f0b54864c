SELECT log_index, stream_seq, hash
FROM log_hashes FINAL
WHERE incarnation = {incarnation:UUID}
    AND stream_seq IN
    (
        SELECT stream_seq
        FROM events
        WHERE tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
            AND session_id = {session:String}
            AND incarnation = {incarnation:UUID}
            AND ({turn:String} = '' OR turn_id = {turn:String})
            AND ({run:String} = '' OR run_id = {run:String})
            AND ({task:String} = '' OR task_id = {task:String})
            AND ({attempt:String} = '' OR attempt_id = {attempt:String})
            AND (empty({only:Array(UInt64)}) OR has({only:Array(UInt64)}, stream_seq))
    )
ORDER BY incarnation, log_index
SETTINGS do_not_merge_across_partitions_select_final = 1, max_block_size = 8000, max_execution_time = 600
