WITH named AS
(
    SELECT incarnation, stream_seq, session_id, recorded_at, erasure_id, r.1 AS sequence, lower(r.2) AS leaf
    FROM
    (
        SELECT incarnation, stream_seq, session_id, recorded_at, JSONExtractString(data, 'erasure_id') AS erasure_id,
            arrayJoin(JSONExtract(data, 'records', 'Array(Tuple(sequence UInt64, leaf String, session_id String, run_id String, turn_id String))')) AS r
        FROM events FINAL
        WHERE tenant = {tenant:String} AND session_id IN ('', {session:String}) AND event_type = {type:String}
    )
    WHERE r.3 = {session:String} AND r.2 != ''
        AND ({run:String} = '' OR r.4 = {run:String})
        AND ({turn:String} = '' OR r.5 = {turn:String})
)
SELECT l.incarnation, l.stream_seq, l.log_index, l.hash,
    (argMin((f.erasure_id, f.incarnation, f.stream_seq, f.session_id), (f.recorded_at, f.stream_seq)) AS fact).1, fact.2, fact.3, fact.4
FROM named AS f
INNER JOIN
(
    SELECT incarnation, stream_seq, log_index, hash, lower(hex(hash)) AS leaf
    FROM log_hashes
    WHERE stream_seq IN (SELECT sequence FROM named)
) AS l ON l.stream_seq = f.sequence AND l.leaf = f.leaf
WHERE (l.incarnation, l.stream_seq) NOT IN (SELECT incarnation, stream_seq FROM events WHERE tenant = {tenant:String} AND session_id = {session:String})
GROUP BY l.incarnation, l.stream_seq, l.log_index, l.hash
ORDER BY l.incarnation, l.log_index
SETTINGS do_not_merge_across_partitions_select_final = 1
