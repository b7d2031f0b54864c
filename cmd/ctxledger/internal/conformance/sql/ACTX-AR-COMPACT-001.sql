-- check: points-at-its-window
-- expects: the compaction names its source items in order, their stretch of the log, its summary and the fate of the
--   source
-- rule: seed 001 ACTX-AR-COMPACT-001, invariant 7
-- applies: run
SELECT
    count() AS looked_at,
    concat(
        'started first, question, thought of thread-1 0 to 1 by, then ',
        'completed first, question, thought of thread-1 0 to 1 by summary replace_in_window')
        AS expected,
    replaceAll(arrayStringConcat(groupArray(line), ', then '), concat('-', {run:String}), '') AS found
FROM
(
    SELECT trim(
        concat(
            change, ' ', arrayStringConcat(source_item_refs, ', '), ' of ', source_thread_id, ' ',
            ifNull(toString(first_position), '?'), ' to ', ifNull(toString(last_position), '?'),
            ' by ', summary_ref, ' ', replacement_policy)) AS line
    FROM compactions
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    ORDER BY event_time
);

-- check: goals-are-kept
-- expects: the summary names each earlier goal, or the compaction puts that goal back
-- rule: seed 004 (goals over a compaction)
-- applies: run
WITH kept AS
(
    SELECT arrayDistinct(arrayFlatten(groupArray(goal_refs))) AS goals
    FROM summaries
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
)
SELECT
    count() AS looked_at, 'goal-1: summary; goal-2: put back' AS expected,
    replaceAll(arrayStringConcat(groupArray(line), '; '), concat('-', {run:String}), '') AS found
FROM
(
    SELECT concat(
        goal, ': ',
        multiIf(
            has((SELECT goals FROM kept), goal), 'summary', has(reinjected_refs, goal), 'put back', 'lost')) AS line
    FROM compactions
    ARRAY JOIN goal_refs AS goal
    WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND change = 'completed'
    ORDER BY goal
);

-- check: summary-is-context
-- expects: the summary is recorded as a summary, as a context item and as a summary record, but never as an entry of
--   the log
-- rule: seed 001 ACTX-AR-COMPACT-001, boundary rule 3
-- applies: run
WITH
concat('summary-', {run:String}) AS id
SELECT
    (
        SELECT count()
        FROM summaries
        WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    ) AS looked_at,
    'item summary thread_summary; thread_summary through 1; 0 entries of the log' AS expected,
    concat(
        'item ',
        (
            SELECT arrayStringConcat(groupArray(concat(content_mode, ' ', context_kind)), ', ')
            FROM item_versions
            WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND item_id = id
        ),
        '; ',
        (
            SELECT arrayStringConcat(
                groupArray(concat(summary_kind, ' through ', ifNull(toString(covers_through_position), '?'))), ', ')
            FROM summaries
            WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND summary_id = id
        ),
        '; ',
        toString(
            (
                SELECT count()
                FROM log_entries
                WHERE tenant = {tenant:String}
                    AND session_id = {session_id:String}
                    AND (item_ref = id OR log_item_id = id)
            )),
        ' entries of the log') AS found;

-- check: source-left-the-window
-- expects: the next turn shows the summary instead of the items that it replaces
-- rule: seed 001 ACTX-AR-COMPACT-001
-- applies: run
SELECT
    count() AS looked_at, 'summary, follow-up' AS expected,
    replaceAll(arrayStringConcat(groupArray(line), ', '), concat('-', {run:String}), '') AS found
FROM
(
    SELECT arrayStringConcat(item_refs, ' ') AS line
    FROM turn_window
    WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND turn_id = concat('turn-2-', {run:String})
    ORDER BY position
);

-- check: compactions-name-source-and-summary
-- expects: every completed compaction names its source and the replacement of the source
-- rule: seed 001 ACTX-AR-COMPACT-001, boundary rule 3
-- applies: both
SELECT
    count() AS looked_at, '' AS expected,
    arrayStringConcat(
        groupArrayIf(10)(
            concat('compaction ', compaction_id),
            summary_ref = ''
                OR empty(source_item_refs) AND first_item_ref = '' AND first_position IS NULL AND last_position IS NULL
        ),
        '; ') AS found
FROM compactions
WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND change = 'completed';

-- check: reasoning-not-replayed
-- expects: no reasoning of an earlier turn comes back as content
-- rule: seed 001 ACTX-AR-COMPACT-001
-- applies: both
SELECT
    (
        SELECT count()
        FROM log_entries
        WHERE tenant = {tenant:String} AND session_id = {session_id:String} AND item_type = 'reasoning'
    ) AS looked_at,
    '' AS expected,
    arrayStringConcat(groupArray(10)(concat(record_id, ' replays ', item_ref)), '; ') AS found
FROM check_reasoning_reinjected
WHERE tenant = {tenant:String} AND session_id = {session_id:String};
