-- Which items filled most of all windows: tokens of an item times the calls that sent it?
-- Section: What did the model see?
-- First: title, layer, session_id, calls, tokens, token_calls, window_share, item_ref
--
-- Each call sends an item again. An item of many calls therefore counts more than its size. The largest
-- items of all sessions come first.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' means all tenants
--   session_id  String  id    = ''                only this session; '' means all sessions
--   days        UInt32  days  = 0    [0..36500]   only facts of this many days before the newest fact; 0 means all
--   limit       UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant        id      the tenant
--   session_id    id      the session
--   item_ref      id      the item
--   title         text    title of the item; '' if no fact gives one
--   layer         text    layer of the window that it fills
--   tool          text    tool of a call or a result; '' for other items
--   calls         count   calls whose window had the item
--   tokens        tokens  largest size of the item in a window, as estimated
--   token_calls   tokens  sum of its sizes over these calls
--   window_share  ratio   token_calls / billed windows of the session
--   first_at      time    first call that sent it; NULL where the log has no times
--   last_at       time    last call that sent it; NULL where the log has no times
WITH
sent AS
(
    SELECT
        tenant, session_id, item_refs[1] AS item_ref, max(w.title) AS title, any(toString(w.layer)) AS layer,
        max(w.name) AS tool, uniqExact(attempt_id, call_id) AS calls, max(w.tokens) AS tokens,
        sum(w.tokens) AS token_calls,
        minOrNullIf(event_time, event_time >= toDateTime64('1971-01-01', 9, 'UTC')) AS first_at,
        maxOrNullIf(event_time, event_time >= toDateTime64('1971-01-01', 9, 'UTC')) AS last_at
    FROM turn_window AS w
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND length(item_refs) = 1
    GROUP BY tenant, session_id, item_ref
    ORDER BY token_calls DESC NULLS LAST, tenant, session_id, item_ref
    LIMIT {limit:UInt32}
),
billed AS
(
    SELECT tenant, session_id, sum(window_tokens) AS windows
    FROM model_calls
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
    GROUP BY tenant, session_id
)
SELECT
    s.tenant AS tenant, s.session_id AS session_id, s.item_ref AS item_ref, s.title AS title, s.layer AS layer,
    s.tool AS tool, s.calls AS calls, s.tokens AS tokens, s.token_calls AS token_calls,
    s.token_calls / nullIf(b.windows, 0) AS window_share, s.first_at AS first_at, s.last_at AS last_at
FROM sent AS s
LEFT JOIN billed AS b ON b.tenant = s.tenant AND b.session_id = s.session_id
ORDER BY token_calls DESC NULLS LAST, tenant, session_id, item_ref
