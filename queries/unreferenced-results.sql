-- Which results of tools were never referred to again?
-- Section: What was used?
-- First: title, session_id, tokens, calls, token_calls, turn_id, item_id
--
-- A result is referred to if a later item of its thread names its file. Such an item is a tool call, another
-- result or a prompt. The files of an item are the paths in its title and the resource that it shows. An item
-- names a file if the file's name, without folders, is part of one of its paths. A file with the same name in
-- another folder therefore counts, and a folder is named by each path through it. A result is also referred to
-- if a later fact of its session has its id. Such a fact is an item that has it as its source, a reload, a gap
-- or its resolution. A window, a selection, an elision or a summary with the result is no reference. The largest
-- results come first.
--
-- Results without a file are not listed, because the records cannot show what an answer used of them. Results
-- of tools that write, edit, create, patch, insert or delete are not listed. A title has at most 80 characters,
-- and a path that is cut off is not compared. A listed result may therefore have references that no title shows.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' means all tenants
--   session_id  String  id    = ''                only this session; '' means all sessions
--   days        UInt32  days  = 0    [0..36500]   only facts of this many days before the newest fact; 0 means all
--   limit       UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant        id      the tenant
--   session_id    id      the session
--   thread_id     id      the thread
--   turn_id       id      turn of the result
--   item_id       id      the result
--   tool_call_id  id      the tool call that it answers; '' if not known
--   title         text    title of the result
--   files         text    the files or resources that it shows
--   tokens        tokens  size of the result, as estimated; NULL if not known
--   calls         count   later model calls of the thread, up to its next compaction
--   token_calls   tokens  tokens × calls; NULL if the size is not known
--   result_at     time    time of the result; NULL where the log has no times
WITH
entries AS
(
    SELECT
        tenant, session_id, thread_id, attempt_id, turn_id, item_id, tool_call_id, thread_order, event_time, title,
        token_estimate, source_ids, cityHash64(tenant, session_id, thread_id, attempt_id) AS thread,
        layer = 'tool_results'
            AND (
                NOT match(title, '^(?i)[^ ]*(write|edit|create|patch|insert|delete)')
                OR match(title, '^(?i)[^ ]* (view|read) ')) AS shows,
        arrayDistinct(
            arrayFilter(
                p -> match(p, '[^./…][./]|[./][^./…]')
                    AND match(p, '[a-zA-Z0-9_]$')
                    AND NOT match(p, '^-|//|[^/][.][.]|^[0-9.]+$|[*?$\\\\]'),
                arrayMap(
                    p -> trimRight(p, '/'),
                    arrayPushBack(extractAll(title, '[^ \\t\\n\'"`=:\\x3b|&<>(),{}\\[\\]]+'), reads)))) AS paths
    FROM item_versions
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND change = 'added'
),
last_named AS
(
    SELECT thread, argMax((item, files, is_file), thread_order) AS last
    FROM
    (
        SELECT
            thread, thread_order, cityHash64(item_id) AS item, cityHash64(arrayJoin(
                arrayDistinct(arrayFlatten(arrayMap(p -> splitByChar('/', p), paths)))) AS name) AS file,
            arrayDistinct(arrayMap(p -> splitByChar('/', p)[-1], if(shows, paths, []))) AS own, length(own) AS files,
            has(own, name) AS is_file
        FROM entries
    )
    GROUP BY thread, file
),
unnamed AS
(
    SELECT thread, last.1 AS item
    FROM last_named
    WHERE last.3
    GROUP BY thread, item
    HAVING count() = any(last.2)
),
results AS
(
    SELECT
        tenant, session_id, thread, item_id, any(thread_id) AS thread_id, any(turn_id) AS turn_id,
        any(tool_call_id) AS tool_call_id, min(thread_order) AS first_order, min(event_time) AS result_at,
        any(title) AS title, any(paths) AS files, max(token_estimate) AS tokens
    FROM entries
    WHERE shows AND (thread, cityHash64(item_id)) IN (unnamed)
    GROUP BY tenant, session_id, thread, item_id
),
pointed AS
(
    SELECT tenant, session_id, ref, max(thread_order) AS last_order
    FROM
    (
        SELECT tenant, session_id, thread_order, arrayJoin(source_ids) AS ref
        FROM entries
        UNION ALL
        SELECT tenant, session_id, thread_order, arrayJoin(arrayConcat(elided_refs, elided_tool_call_ids))
        FROM elisions
        WHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND ({session_id:String} = '' OR session_id = {session_id:String})
            AND change = 'reloaded'
        UNION ALL
        SELECT tenant, session_id, thread_order, arrayJoin(arrayConcat(candidate_item_refs, resolution_refs))
        FROM gap_steps
        WHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND ({session_id:String} = '' OR session_id = {session_id:String})
    )
    WHERE ref != ''
    GROUP BY tenant, session_id, ref
),
largest AS
(
    SELECT r.*
    FROM results AS r
    LEFT JOIN pointed AS i ON i.tenant = r.tenant AND i.session_id = r.session_id AND i.ref = r.item_id
    LEFT JOIN pointed AS t ON t.tenant = r.tenant AND t.session_id = r.session_id AND t.ref = r.tool_call_id
    WHERE i.last_order <= r.first_order AND t.last_order <= r.first_order
    ORDER BY r.tokens DESC NULLS LAST, r.tenant, r.session_id, r.item_id
    LIMIT {limit:UInt32}
),
progress AS
(
    SELECT
        tenant, session_id, thread_id, arraySort(groupArrayIf(at, called)) AS calls_at,
        arraySort(groupArrayIf(at, NOT called)) AS cut_at
    FROM
    (
        SELECT tenant, session_id, thread_id, thread_order AS at, true AS called
        FROM model_calls
        WHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND ({session_id:String} = '' OR session_id = {session_id:String})
            AND NOT synthetic
        UNION ALL
        SELECT tenant, session_id, if(source_thread_id = '', thread_id, source_thread_id), thread_order, false
        FROM compactions
        WHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND ({session_id:String} = '' OR session_id = {session_id:String})
            AND change = 'completed'
    )
    GROUP BY tenant, session_id, thread_id
)
SELECT
    r.tenant AS tenant, r.session_id AS session_id, r.thread_id AS thread_id, r.turn_id AS turn_id,
    r.item_id AS item_id, r.tool_call_id AS tool_call_id, r.title AS title, r.files AS files, r.tokens AS tokens,
    arrayCount(
        c -> c > r.first_order AND NOT arrayExists(x -> x > r.first_order AND x < c, p.cut_at), p.calls_at) AS calls,
    tokens * calls AS token_calls,
    if(r.result_at < toDateTime64('1971-01-01', 9, 'UTC'), NULL, r.result_at) AS result_at
FROM largest AS r
LEFT JOIN progress AS p
    ON p.tenant = r.tenant AND p.session_id = r.session_id AND p.thread_id = r.thread_id
ORDER BY tokens DESC NULLS LAST, tenant, session_id, item_id
