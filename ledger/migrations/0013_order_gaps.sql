-- Gaps by when their steps happened, in whatever order these came: a producer may
-- send late, and several tell of one gap.

-- gaps: one row a gap, as its last step left it. A detail that a later step did
-- not repeat is the last one that was given. Which step is later the producer's
-- sequence says where one producer tells of all, and else event_time.
--   tenant, missing_id, the correlation ids of its first step, call_id
--   status (open, requested, waiting, resolved, declined, blocked, expired), is_open
--   question, needed_for, severity, owner, requested_action, user_summary,
--   blocked_actions, candidate_item_refs, resolution_refs
--   detected_at, changed_at (first and last step, UTC), steps
CREATE OR REPLACE VIEW gaps AS
SELECT
    tenant, missing_id, argMin(agent, at) AS agent, argMin(resource_id, at) AS resource_id, argMin(runtime_id, at) AS runtime_id,
    argMin(session_id, at) AS session_id, argMin(thread_id, at) AS thread_id, argMin(turn_id, at) AS turn_id,
    argMin(task_id, at) AS task_id, argMin(run_id, at) AS run_id, argMin(attempt_id, at) AS attempt_id,
    argMin(step_id, at) AS step_id, argMin(tool_call_id, at) AS tool_call_id, argMin(action_id, at) AS action_id,
    argMin(evidence_id, at) AS evidence_id, argMin(context_id, at) AS context_id,
    argMin(parent_run_id, at) AS parent_run_id, argMin(root_run_id, at) AS root_run_id, argMin(call_id, at) AS call_id,
    argMax(status, at) AS status, toBool(status NOT IN ('resolved', 'declined', 'expired')) AS is_open,
    argMaxIf(question, at, question != '') AS question, argMaxIf(needed_for, at, needed_for != '') AS needed_for,
    argMaxIf(severity, at, severity != '') AS severity, argMaxIf(requested_from, at, requested_from != '') AS owner,
    argMaxIf(requested_action, at, requested_action != '') AS requested_action,
    argMaxIf(user_summary, at, user_summary != '') AS user_summary,
    argMaxIf(blocked_actions, at, notEmpty(blocked_actions)) AS blocked_actions,
    argMaxIf(candidate_item_refs, at, notEmpty(candidate_item_refs)) AS candidate_item_refs,
    argMaxIf(resolution_refs, at, notEmpty(resolution_refs)) AS resolution_refs,
    min(event_time) AS detected_at, max(event_time) AS changed_at, count() AS steps
FROM
(
    SELECT *, (if(alone, ifNull(sequence, 0), toUnixTimestamp64Nano(event_time)), ifNull(sequence, 0), event_id) AS at
    FROM
    (
        SELECT *, min((source, session_id)) OVER gap = max((source, session_id)) OVER gap AND countIf(sequence IS NULL) OVER gap = 0 AS alone
        FROM gap_steps
        WINDOW gap AS (PARTITION BY tenant, missing_id)
    )
)
GROUP BY tenant, missing_id;

-- check_compaction_dropped_open_gap: completed compactions that a gap was open at
-- and that do not carry it on: neither among what they put back or kept, nor in
-- their loss notes, nor among the open questions of their summary. Open it was by
-- event_time, and by sequence within one instant.
--   tenant, session_id, thread_id, turn_id, compaction_id, missing_id, question, problem
CREATE OR REPLACE VIEW check_compaction_dropped_open_gap AS
WITH carried AS
(
    SELECT c.tenant AS tenant, c.session_id AS session_id, c.thread_id AS thread_id, c.turn_id AS turn_id, c.compaction_id AS compaction_id,
        (c.event_time, ifNull(c.sequence, 0)) AS at, arrayConcat(c.reinjected_refs, c.retained_tail_refs, c.loss_notes, s.open_questions) AS kept
    FROM (SELECT * FROM compactions WHERE change = 'completed') AS c
    LEFT JOIN (SELECT tenant, session_id, summary_id, arrayFlatten(groupArray(open_questions)) AS open_questions FROM summaries GROUP BY tenant, session_id, summary_id) AS s
        ON s.tenant = c.tenant AND s.session_id = c.session_id AND s.summary_id = c.summary_ref
),
open AS
(
    SELECT tenant, missing_id, argMin(session_id, (at, event_id)) AS session_id, argMin(thread_id, (at, event_id)) AS thread_id,
        argMaxIf(question, (at, event_id), question != '') AS question, min(at) AS since,
        minIf(at, status IN ('resolved', 'declined', 'expired')) AS until, countIf(status IN ('resolved', 'declined', 'expired')) AS ends
    FROM (SELECT *, (event_time, ifNull(sequence, 0)) AS at FROM gap_steps) GROUP BY tenant, missing_id
)
SELECT c.tenant AS tenant, c.session_id AS session_id, c.thread_id AS thread_id, c.turn_id AS turn_id, c.compaction_id AS compaction_id,
    g.missing_id AS missing_id, g.question AS question, 'the compaction does not carry on a gap that was open' AS problem
FROM carried AS c INNER JOIN open AS g ON g.tenant = c.tenant AND g.session_id = c.session_id AND g.thread_id = c.thread_id
WHERE g.since < c.at AND (g.ends = 0 OR g.until > c.at)
    AND NOT arrayExists(k -> k = g.missing_id OR position(k, g.missing_id) > 0 OR g.question != '' AND k = g.question, c.kept);
