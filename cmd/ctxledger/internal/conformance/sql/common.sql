-- The checks of every case. Tables are read without FINAL: a row that was written
-- twice must be the same both times.

-- check: recorded
-- expects: every event that was not refused is recorded once, unchanged: type, time, order, the bytes of its data and
--   all ids
-- rule: invariants 2, 4 and 12
-- applies: run
WITH
got AS
(
    SELECT arrayStringConcat(
        [
            event_id, event_type, source, ifNull(toString(sequence), ''), toString(toUnixTimestamp64Nano(event_time)),
            lower(hex(SHA256(data))), tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id,
            run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id],
        ' | ') AS line
    FROM recorded_events
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
)
SELECT
    count() AS looked_at,
    arrayStringConcat(
        arrayPushFront(
            arrayFilter(x -> NOT has(lines, x), {recorded:Array(String)}),
            concat(toString(length({recorded:Array(String)})), ' events')),
        '\n') AS expected,
    arrayStringConcat(
        arrayPushFront(
            arrayFilter(x -> NOT has({recorded:Array(String)}, x), groupArray(line) AS lines),
            concat(toString(count()), ' events')),
        '\n') AS found
FROM got;

-- check: typed-rows
-- expects: every event of a type with a separate table has its row there, with every id of the event
-- rule: invariant 4
-- applies: both
WITH
facts AS
(
    SELECT
        incarnation, stream_seq, toString(event_type) AS kind,
        cityHash64(
            tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id,
            step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id) AS ids
    FROM recorded_events
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
),
typed AS
(
    SELECT
        incarnation, stream_seq, 'scopes' AS place,
        cityHash64(
            tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id,
            step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id) AS ids
    FROM scopes
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    UNION ALL
    SELECT
        incarnation, stream_seq, 'items',
        cityHash64(
            tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id,
            step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id)
    FROM items
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    UNION ALL
    SELECT
        incarnation, stream_seq, 'decisions',
        cityHash64(
            tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id,
            step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id)
    FROM decisions
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    UNION ALL
    SELECT
        incarnation, stream_seq, 'windows',
        cityHash64(
            tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id,
            step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id)
    FROM windows
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    UNION ALL
    SELECT
        incarnation, stream_seq, 'placements',
        cityHash64(
            tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id,
            step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id)
    FROM placements
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    UNION ALL
    SELECT
        incarnation, stream_seq, 'replacements',
        cityHash64(
            tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id,
            step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id)
    FROM replacements
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    UNION ALL
    SELECT
        incarnation, stream_seq, 'redactions',
        cityHash64(
            tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id,
            step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id)
    FROM redactions
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    UNION ALL
    SELECT
        incarnation, stream_seq, 'missing',
        cityHash64(
            tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id,
            step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id)
    FROM missing
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    UNION ALL
    SELECT
        incarnation, stream_seq, 'calls',
        cityHash64(
            tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id,
            step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id)
    FROM calls
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
    UNION ALL
    SELECT
        incarnation, stream_seq, 'log_items',
        cityHash64(
            tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id,
            step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id)
    FROM log_items
    WHERE tenant = {tenant:String} AND session_id = {session_id:String}
),
judged AS
(
    SELECT
        f.kind AS kind, f.stream_seq AS stream_seq,
        multiIf(
            t.place = ''
                AND f.kind LIKE 'context.%'
                AND f.kind NOT IN ('context.exported', 'context.erasure.applied', 'context.facts.dropped'),
            'no row of its own',
            t.place != '' AND t.ids != f.ids, concat('other ids in ', t.place), '') AS problem
    FROM facts AS f
    LEFT JOIN typed AS t ON t.incarnation = f.incarnation AND t.stream_seq = f.stream_seq
)
SELECT
    count() AS looked_at, '' AS expected,
    arrayStringConcat(
        groupArrayIf(10)(concat(kind, ' at ', toString(stream_seq), ': ', problem), problem != ''), '; ') AS found
FROM judged;

-- check: refused-kept
-- expects: every event that breaks the contract is in quarantine under its code, with its subject, headers and exact
--   bytes
-- rule: invariants 3 and 11
-- applies: run
WITH
wanted AS
(
    SELECT w.1 AS stream_seq, w.2 AS code, w.3 AS subject, w.4 AS header, w.5 AS data
    FROM
    (
        SELECT arrayJoin(
            arrayZip(
                {sequences:Array(UInt64)}, {codes:Array(String)}, {subjects:Array(String)}, {headers:Array(String)},
                {digests:Array(String)})) AS w
    )
),
kept AS
(
    SELECT stream_seq, codes, stream_subject AS subject, header, lower(hex(SHA256(data))) AS data
    FROM refused_events
    WHERE incarnation = {incarnation:UUID} AND has({sequences:Array(UInt64)}, stream_seq)
)
SELECT
    count() AS looked_at,
    arrayStringConcat(
        groupArray(concat(toString(w.stream_seq), ' ', w.code, ' at ', w.subject, ', headers and bytes as sent')), '\n'
    ) AS expected,
    arrayStringConcat(
        groupArray(
            concat(
                toString(w.stream_seq), ' ',
                multiIf(has(k.codes, w.code), w.code, empty(k.codes), 'not in quarantine', toString(k.codes)), ' at ',
                k.subject,
                if(
                    mapSort(
                        JSONExtract(k.header, 'Map(String, Array(String))')
                    ) = mapSort(JSONExtract(w.header, 'Map(String, Array(String))'))
                        AND k.data = w.data,
                    ', headers and bytes as sent', ', other headers or bytes'))),
        '\n') AS found
FROM (SELECT * FROM wanted ORDER BY stream_seq) AS w
LEFT JOIN kept AS k USING (stream_seq);

-- check: refused-nowhere-else
-- expects: no part of a refused event is in any other table
-- rule: invariants 3 and 11
-- applies: run
WITH
{sequences:Array(UInt64)} AS refused,
now64() - toIntervalDay(1) AS since
SELECT
    length(refused) AS looked_at, '' AS expected,
    arrayStringConcat(groupArray(concat('sequence ', toString(stream_seq), ' in ', place)), '; ') AS found
FROM
(
    SELECT stream_seq, 'events' AS place
    FROM events
    WHERE recorded_at > since AND incarnation = {incarnation:UUID} AND has(refused, stream_seq)
    UNION ALL
    SELECT stream_seq, 'scopes'
    FROM scopes
    WHERE recorded_at > since AND incarnation = {incarnation:UUID} AND has(refused, stream_seq)
    UNION ALL
    SELECT stream_seq, 'items'
    FROM items
    WHERE recorded_at > since AND incarnation = {incarnation:UUID} AND has(refused, stream_seq)
    UNION ALL
    SELECT stream_seq, 'decisions'
    FROM decisions
    WHERE recorded_at > since AND incarnation = {incarnation:UUID} AND has(refused, stream_seq)
    UNION ALL
    SELECT stream_seq, 'windows'
    FROM windows
    WHERE recorded_at > since AND incarnation = {incarnation:UUID} AND has(refused, stream_seq)
    UNION ALL
    SELECT stream_seq, 'placements'
    FROM placements
    WHERE recorded_at > since AND incarnation = {incarnation:UUID} AND has(refused, stream_seq)
    UNION ALL
    SELECT stream_seq, 'replacements'
    FROM replacements
    WHERE recorded_at > since AND incarnation = {incarnation:UUID} AND has(refused, stream_seq)
    UNION ALL
    SELECT stream_seq, 'redactions'
    FROM redactions
    WHERE recorded_at > since AND incarnation = {incarnation:UUID} AND has(refused, stream_seq)
    UNION ALL
    SELECT stream_seq, 'missing'
    FROM missing
    WHERE recorded_at > since AND incarnation = {incarnation:UUID} AND has(refused, stream_seq)
    UNION ALL
    SELECT stream_seq, 'calls'
    FROM calls
    WHERE recorded_at > since AND incarnation = {incarnation:UUID} AND has(refused, stream_seq)
    UNION ALL
    SELECT stream_seq, 'log_items'
    FROM log_items
    WHERE recorded_at > since AND incarnation = {incarnation:UUID} AND has(refused, stream_seq)
    UNION ALL
    SELECT stream_seq, 'duplicates'
    FROM duplicates
    WHERE recorded_at > since AND incarnation = {incarnation:UUID} AND has(refused, stream_seq)
);
