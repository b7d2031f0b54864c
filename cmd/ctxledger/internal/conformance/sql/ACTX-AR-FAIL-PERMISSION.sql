-- check: gap-was-not-approved
-- expects: the gap went from open to declined, by the policy of its last step; no step in between counts
-- rule: seed 001 failure case 2, boundary rule 2
-- applies: run
SELECT
    count() AS looked_at, 'open, declined by decision:88 under policy:access/v1' AS expected,
    arrayStringConcat(groupArray(line), ', ') AS found
FROM
(
    SELECT concat(
        status, if(empty(resolution_refs), '', concat(' by ', arrayStringConcat(resolution_refs, ' '))),
        if(empty(policy_refs), '', concat(' under ', arrayStringConcat(policy_refs, ' ')))) AS line
    FROM gap_steps
    WHERE tenant = {tenant:String} AND missing_id = concat('gap-', {run:String})
    ORDER BY stream_seq
);

-- check: no-grant-from-a-gap
-- expects: no grant results from the gap
-- rule: seed 001 failure case 2
-- applies: run
SELECT
    (
        SELECT count()
        FROM gap_steps
        WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    ) AS looked_at,
    '' AS expected,
    arrayStringConcat(groupArray(concat(record_kind, ' ', record_id)), '; ') AS found
FROM scope_records
WHERE tenant = {tenant:String} AND session_id = {session_id:String};
