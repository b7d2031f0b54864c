-- One row a completed compaction and every compaction whose summary it stands on, itself
-- included.
--
-- The view needs no recursion, so that a filter on the session reaches the table. A
-- compaction is compared with the summaries of its session where it is read. From there
-- on compactions go by their number, and the few steps of a session are walked at once.
--
-- Needs: compactions, replacements.
--
--   tenant                   LowCardinality(String)  id
--   session_id               String                  id
--   thread_id                String                  id
--   compaction_id            String                  id
--   summary_ref              String                  id
--   generation               UInt64                  count
--   ancestor_id              String                  id
--   ancestor_summary_ref     String                  id
--   ancestor_first_position  Nullable(Int64)         position
--   ancestor_last_position   Nullable(Int64)         position
--   ancestor_tokens_before   Nullable(Int64)         tokens
--   ancestor_tokens_after    Nullable(Int64)         tokens
--   ancestor_loss_notes      Array(String)           text
--   ancestor_time            DateTime64(9, 'UTC')    time
CREATE OR REPLACE VIEW compaction_lineage AS
WITH
done AS
(
    SELECT
        tenant, session_id, source_thread_id AS thread_id, thread_order, stream_seq, incarnation, compaction_id,
        summary_ref, first_position, last_position, tokens_before, tokens_after, loss_notes, event_time,
        row_number() OVER (PARTITION BY tenant, session_id ORDER BY thread_order, stream_seq) AS number
    FROM compactions
    WHERE change = 'completed'
),
made AS
(
    SELECT tenant, session_id, groupArray((summary_ref, number, thread_order)) AS summaries
    FROM done
    WHERE summary_ref != ''
    GROUP BY tenant, session_id
),
sources AS
(
    SELECT tenant, session_id, incarnation, stream_seq, source_item_refs, first_item_ref, last_item_ref
    FROM replacements
    WHERE record_kind = 'compaction' AND change = 'completed'
),
read AS
(
    SELECT
        s.tenant AS tenant, s.session_id AS session_id, s.incarnation AS incarnation, s.stream_seq AS stream_seq,
        m.summaries AS summaries,
        arrayIntersect(arrayConcat(s.source_item_refs, [s.first_item_ref, s.last_item_ref]), m.summaries.1) AS found
    FROM sources AS s
    INNER JOIN made AS m ON m.tenant = s.tenant AND m.session_id = s.session_id
),
links AS
(
    SELECT
        d.tenant AS tenant, d.session_id AS session_id, d.number AS child,
        arrayJoin(
            arrayMap(
                o -> o.2, arrayFilter(o -> o.2 != d.number AND o.3 < d.thread_order AND has(r.found, o.1), r.summaries))
        ) AS parent
    FROM read AS r
    INNER JOIN done AS d
        ON d.tenant = r.tenant
            AND d.session_id = r.session_id
            AND d.incarnation = r.incarnation
            AND d.stream_seq = r.stream_seq
    WHERE notEmpty(r.found)
    UNION ALL
    SELECT tenant, session_id, number, before
    FROM
    (
        SELECT
            tenant, session_id, number, thread_order, first_position, lagInFrame(number) OVER thread AS before,
            lagInFrame(thread_order) OVER thread AS before_order, lagInFrame(last_position) OVER thread AS before_last
        FROM done
        WINDOW thread AS (
            PARTITION BY tenant, session_id, thread_id
            ORDER BY thread_order, stream_seq
            ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
    )
    WHERE before > 0 AND before_order < thread_order AND first_position > before_last
),
lineage AS
(
    SELECT
        d.tenant AS tenant, d.session_id AS session_id, d.thread_id AS thread_id, d.compaction_id AS compaction_id,
        d.summary_ref AS summary_ref,
        arrayFold(
            (walked, generation) -> (
                arrayConcat(
                    walked.1,
                    arrayMap(
                        n -> (generation, n),
                        arrayDistinct(arrayMap(l -> l.2, arrayFilter(l -> has(walked.2, l.1), s.links))))),
                arrayDistinct(arrayMap(l -> l.2, arrayFilter(l -> has(walked.2, l.1), s.links)))),
            arrayMap(n -> toUInt64(n), range(1, least(length(s.links), d.number, 100) + 1)),
            ([(toUInt64(0), d.number)], [d.number])).1 AS ancestors
    FROM done AS d
    LEFT JOIN
    (
        SELECT tenant, session_id, groupUniqArray((child, parent)) AS links
        FROM links
        GROUP BY tenant, session_id
    ) AS s
        ON s.tenant = d.tenant AND s.session_id = d.session_id
)
SELECT
    l.tenant AS tenant, l.session_id AS session_id, l.thread_id AS thread_id, l.compaction_id AS compaction_id,
    l.summary_ref AS summary_ref, l.ancestor.1 AS generation, a.compaction_id AS ancestor_id,
    a.summary_ref AS ancestor_summary_ref, a.first_position AS ancestor_first_position,
    a.last_position AS ancestor_last_position, a.tokens_before AS ancestor_tokens_before,
    a.tokens_after AS ancestor_tokens_after, a.loss_notes AS ancestor_loss_notes,
    a.event_time AS ancestor_time
FROM
(
    SELECT tenant, session_id, thread_id, compaction_id, summary_ref, arrayJoin(ancestors) AS ancestor
    FROM lineage
) AS l
INNER JOIN done AS a ON a.tenant = l.tenant AND a.session_id = l.session_id AND a.number = l.ancestor.2;
