-- check: only-the-proper-one
-- expects: only compactions, summaries and items that name their source and mark no answer are recorded
-- rule: seed 001 failure case 3, boundary rule 3
-- applies: run
SELECT
    count() AS looked_at, 'compaction compaction of a, b; summary summary of a, b' AS expected,
    replaceAll(arrayStringConcat(groupArray(line), '; '), concat('-', {run:String}), '') AS found
FROM
(
    SELECT stream_seq, concat('compaction ', compaction_id, ' of ', arrayStringConcat(source_item_refs, ', ')) AS line
    FROM compactions
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    UNION ALL
    SELECT stream_seq, concat('summary ', summary_id, ' of ', arrayStringConcat(source_item_refs, ', '))
    FROM summaries
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    UNION ALL
    SELECT stream_seq, concat('item ', item_id)
    FROM item_versions
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    ORDER BY stream_seq
);
