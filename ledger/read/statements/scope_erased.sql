WITH
told AS
(
    SELECT
        r.1 AS sequence, lower(r.2) AS leaf, if(tenant = '', 'default', tenant) AS whose,
        incarnation, stream_seq, session_id, recorded_at, erasure_id, r.3 AS erased_session, r.4 AS erased_run,
        r.5 AS erased_turn
    FROM
    (
        SELECT
            incarnation, stream_seq, toString(tenant) AS tenant, session_id, recorded_at,
            JSONExtractString(declaration, 'erasure_id') AS erasure_id,
            arrayJoin(
                JSONExtract(
                    declaration, 'records',
                    'Array(Tuple(sequence UInt64, leaf String, session_id String, run_id String, turn_id String))')
            ) AS r
        FROM events FINAL
        WHERE event_type = {type:String}
    )
    WHERE r.2 != ''
),
-- Of several facts that name a leaf, the first one of the leaf's tenant counts.
counting AS
(
    SELECT
        l.incarnation AS log, l.stream_seq AS sequence, l.log_index AS log_index, l.hash AS hash,
        argMin(
            (
                f.erasure_id, f.incarnation, f.stream_seq, f.session_id, f.whose, f.erased_session, f.erased_run,
                f.erased_turn),
            (f.recorded_at, f.stream_seq)) AS fact
    FROM told AS f
    INNER JOIN
    (
        SELECT incarnation, stream_seq, log_index, hash, lower(hex(hash)) AS leaf, tenant
        FROM log_hashes
        WHERE stream_seq IN (SELECT sequence FROM told)
    ) AS l
        ON l.stream_seq = f.sequence AND l.leaf = f.leaf
    WHERE l.tenant IN ('', f.whose)
        AND (l.incarnation, l.stream_seq) NOT IN
        (
            SELECT incarnation, stream_seq
            FROM events
            WHERE stream_seq IN (SELECT sequence FROM told)
        )
    GROUP BY log, sequence, log_index, hash
)
SELECT log, sequence, log_index, hash, fact.1, fact.2, fact.3, fact.4
FROM counting
WHERE fact.5 = if({tenant:String} = '', 'default', {tenant:String})
    AND fact.6 = {session:String}
    AND ({run:String} = '' OR fact.7 = {run:String})
    AND ({turn:String} = '' OR fact.8 = {turn:String})
    AND {task:String} = '' -- of an erased record nobody knows the task
    AND {attempt:String} = ''
ORDER BY log, log_index
SETTINGS do_not_merge_across_partitions_select_final = 1
