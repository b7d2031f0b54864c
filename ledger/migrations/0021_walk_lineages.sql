-- compaction_lineage, without a recursion: the steps from one compaction to those
-- that it stands on are few in a session, so each session's are walked in one go. A
-- filter on the session then reaches the table, which it does not through a recursion.
CREATE OR REPLACE VIEW compaction_lineage AS
WITH
done AS
(
    SELECT tenant, session_id, source_thread_id AS thread_id, thread_order, compaction_id, summary_ref, first_position, last_position,
        tokens_before, tokens_after, loss_notes, event_time, source_item_refs, first_item_ref, last_item_ref,
        row_number() OVER (PARTITION BY tenant, session_id, source_thread_id ORDER BY thread_order, stream_seq) AS number
    FROM compactions WHERE change = 'completed'
),
edges AS
(
    SELECT b.tenant AS tenant, b.session_id AS session_id, groupArray((b.compaction_id, a.compaction_id)) AS links
    FROM done AS b INNER JOIN done AS a ON a.tenant = b.tenant AND a.session_id = b.session_id
    WHERE a.compaction_id != b.compaction_id AND a.thread_order < b.thread_order
        AND (a.summary_ref != '' AND (has(b.source_item_refs, a.summary_ref) OR a.summary_ref IN (b.first_item_ref, b.last_item_ref))
            OR a.thread_id = b.thread_id AND a.number = b.number - 1 AND b.first_position > a.last_position)
    GROUP BY tenant, session_id
),
lineage AS
(
    SELECT d.tenant AS tenant, d.session_id AS session_id, d.thread_id AS thread_id, d.compaction_id AS compaction_id, d.summary_ref AS summary_ref,
        arrayFold(
            (walked, generation) -> (
                arrayConcat(walked.1, arrayMap(id -> (generation, id), arrayDistinct(arrayMap(l -> l.2, arrayFilter(l -> has(walked.2, l.1), e.links))))),
                arrayDistinct(arrayMap(l -> l.2, arrayFilter(l -> has(walked.2, l.1), e.links)))),
            arrayMap(n -> toUInt64(n), range(1, least(length(e.links), 100) + 1)),
            ([(toUInt64(0), d.compaction_id)], [d.compaction_id])).1 AS ancestors
    FROM done AS d LEFT JOIN edges AS e ON e.tenant = d.tenant AND e.session_id = d.session_id
)
SELECT
    l.tenant AS tenant, l.session_id AS session_id, l.thread_id AS thread_id, l.compaction_id AS compaction_id, l.summary_ref AS summary_ref,
    l.ancestor.1 AS generation, l.ancestor.2 AS ancestor_id, a.summary_ref AS ancestor_summary_ref,
    a.first_position AS ancestor_first_position, a.last_position AS ancestor_last_position,
    a.tokens_before AS ancestor_tokens_before, a.tokens_after AS ancestor_tokens_after, a.loss_notes AS ancestor_loss_notes,
    a.event_time AS ancestor_time
FROM (SELECT tenant, session_id, thread_id, compaction_id, summary_ref, arrayJoin(ancestors) AS ancestor FROM lineage) AS l
INNER JOIN done AS a ON a.tenant = l.tenant AND a.session_id = l.session_id AND a.compaction_id = l.ancestor.2;
