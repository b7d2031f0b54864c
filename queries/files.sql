-- Which files did tools read and write, and how much of the windows did they fill?
-- Section: What was used?
-- First: file, tools, uses, sessions, calls, tokens, token_calls, last_at
--
-- A file is the argument of a tool in the title of its call and its result, such as src/app.go of Read
-- src/app.go. Items have such titles where titles were made: by an import, a capture or a runtime. A path
-- of more than 80 characters has its end alone. The files that filled most come first.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' means all tenants
--   session_id  String  id    = ''                only this session; '' means all sessions
--   file        String  text  = ''                only files with this in their path; '' means all files
--   days        UInt32  days  = 0    [0..36500]   only facts of this many days before the newest fact; 0 means all
--   limit       UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant       id      the tenant
--   file         text    the path, as the tools got it
--   tools        text    tools that got it
--   uses         count   distinct tool calls
--   sessions     count   sessions with such a call
--   calls        count   model calls whose window had one of the items
--   tokens       tokens  sum of the largest sizes of its items, as estimated; NULL if none is known
--   token_calls  tokens  sum of the sizes of its items over all windows
--   first_at     time    first model call that had one; NULL where the log has no times
--   last_at      time    last model call that had one; NULL where the log has no times
WITH
sent AS
(
    SELECT
        tenant, session_id, item_refs[1] AS item_ref, max(w.name) AS tool, max(w.title) AS title,
        max(w.tool_call_id) AS tool_call, max(w.tokens) AS size, sum(w.tokens) AS sizes,
        groupUniqArray(cityHash64(session_id, attempt_id, call_id)) AS windows, min(event_time) AS begin,
        max(event_time) AS end
    FROM turn_window AS w
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND length(item_refs) = 1
        AND w.name != ''
        AND startsWith(w.title, concat(w.name, ' '))
    GROUP BY tenant, session_id, item_ref
),
named AS
(
    SELECT *, substring(title, length(tool) + 2) AS path
    FROM sent
    WHERE match(path, '^[^ ]*[/.][^ ]*$')
        AND NOT match(path, '^[a-z]+://')
        AND ({file:String} = '' OR position(path, {file:String}) > 0)
)
SELECT
    tenant, path AS file, arraySort(groupUniqArray(tool)) AS tools,
    uniqExact(session_id, if(tool_call = '', item_ref, tool_call)) AS uses, uniqExact(session_id) AS sessions,
    length(groupUniqArrayArray(windows)) AS calls, sum(size) AS tokens, sum(sizes) AS token_calls,
    minOrNullIf(begin, begin >= toDateTime64('1971-01-01', 9, 'UTC')) AS first_at,
    maxOrNullIf(end, end >= toDateTime64('1971-01-01', 9, 'UTC')) AS last_at
FROM named
GROUP BY tenant, file
ORDER BY token_calls DESC NULLS LAST, tenant, file
LIMIT {limit:UInt32}
