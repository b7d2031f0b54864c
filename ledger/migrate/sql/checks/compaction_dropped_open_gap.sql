-- Completed compactions that do not carry on a gap that was open. A gap of another attempt is
-- in another window.
--
-- Needs: compactions, gap_steps, summaries.
--
--   tenant         LowCardinality(String)  id
--   session_id     String                  id
--   thread_id      String                  id
--   turn_id        String                  id
--   compaction_id  String                  id
--   missing_id     String                  id
--   question       String                  text
--   problem        String                  text
CREATE OR REPLACE VIEW check_compaction_dropped_open_gap_of AS
WITH
carried AS
(
    SELECT
        c.tenant AS tenant, c.session_id AS session_id, c.thread_id AS thread_id, c.turn_id AS turn_id,
        c.compaction_id AS compaction_id, c.attempt_id AS attempt_id, (c.event_time, ifNull(c.sequence, 0)) AS at,
        arrayConcat(c.reinjected_refs, c.retained_tail_refs, c.loss_notes, s.open_questions) AS kept
    FROM (SELECT * FROM compactions WHERE change = 'completed' AND {of_tenant}) AS c
    LEFT JOIN
    (
        SELECT
            tenant, session_id, attempt_id, summary_id, arrayFlatten(groupArray(open_questions)) AS open_questions
        FROM summaries
        WHERE {of_tenant}
        GROUP BY tenant, session_id, attempt_id, summary_id
    ) AS s
        ON s.tenant = c.tenant
            AND s.session_id = c.session_id
            AND s.attempt_id = c.attempt_id
            AND s.summary_id = c.summary_ref
),
open AS
(
    SELECT
        tenant, missing_id, argMin(session_id, (at, event_id)) AS session_id,
        argMin(thread_id, (at, event_id)) AS thread_id, groupUniqArray(attempt_id) AS attempts,
        argMaxIf(question, (at, event_id), question != '') AS question,
        min(at) AS since, minIf(at, status IN ('resolved', 'declined', 'expired')) AS until,
        countIf(status IN ('resolved', 'declined', 'expired')) AS ends
    FROM
    (
        SELECT *, (event_time, ifNull(sequence, 0)) AS at
        FROM gap_steps
        WHERE {of_tenant}
    )
    GROUP BY tenant, missing_id
)
SELECT
    c.tenant AS tenant, c.session_id AS session_id, c.thread_id AS thread_id, c.turn_id AS turn_id,
    c.compaction_id AS compaction_id, g.missing_id AS missing_id, g.question AS question,
    'the compaction does not carry on a gap that was open' AS problem
FROM carried AS c
INNER JOIN open AS g ON g.tenant = c.tenant AND g.session_id = c.session_id AND g.thread_id = c.thread_id
WHERE g.since < c.at
    AND (c.attempt_id = '' OR has(g.attempts, '') OR has(g.attempts, c.attempt_id))
    AND (g.ends = 0 OR g.until > c.at)
    AND NOT arrayExists(
        k -> k = g.missing_id OR position(k, g.missing_id) > 0 OR g.question != '' AND k = g.question, c.kept);
