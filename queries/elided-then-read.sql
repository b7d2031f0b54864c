-- Which items were elided and then read again?
-- Section: What was shortened or summarised?
-- First: item_id, reads, saved_tokens, again, again_tokens, elided_turn_id, again_turn_id
--
-- Repeated reads reduce the quality of an agent, because content is missing that it had just before. A row
-- is an elided item and its first later read. The read is a reload, or another item of the thread that
-- shows the same file or resource.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' means all tenants
--   session_id  String  id    = ''                only this session; '' means all sessions
--   days        UInt32  days  = 0    [0..36500]   only facts of this many days before the newest fact; 0 means all
--   limit       UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant           id      the tenant
--   session_id       id      the session
--   thread_id        id      the thread
--   policy           text    the elision policy
--   pass_id          id      the pass that elided the item
--   item_id          id      the item
--   reads            text    file or resource that the item shows; '' if not known
--   reason           text    reason of the policy; '' if not given
--   elided_turn_id   id      the turn in which it was elided
--   elided_at        time    time of the elision
--   saved_tokens     tokens  tokens that the pass kept out of the window; NULL if not known
--   again            text    reloaded, or read if another item shows the same resource
--   again_item_id    id      the later item
--   again_turn_id    id      turn of the later item
--   again_at         time    time of the reload or read
--   again_tokens     tokens  size of the later item; NULL if not known
WITH
passes AS
(
    SELECT
        tenant, session_id, thread_id, thread_order, turn_id, event_time, policy, pass_id, change, one.1 AS item_id,
        one.2 AS before, one.3 AS after, one.4 AS reason
    FROM elisions
    ARRAY JOIN arrayZip(
        elided_refs, elided_before, elided_after, arrayResize(elided_reasons, length(elided_refs), '')) AS one
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
),
reading AS
(
    SELECT tenant, session_id, thread_id, thread_order, turn_id, event_time, item_id, reads, token_estimate
    FROM item_versions
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND change = 'added'
        AND reads != ''
),
elided AS
(
    SELECT p.*, r.reads AS reads
    FROM (SELECT * FROM passes WHERE change = 'applied') AS p
    LEFT JOIN
    (
        SELECT tenant, session_id, item_id, argMax(reads, thread_order) AS reads
        FROM reading
        GROUP BY tenant, session_id, item_id
    ) AS r ON r.tenant = p.tenant AND r.session_id = p.session_id AND r.item_id = p.item_id
),
comings AS
(
    SELECT
        tenant, session_id, thread_id, thread_order, turn_id, event_time, item_id, 'reloaded' AS again,
        item_id AS key, after AS tokens
    FROM passes
    WHERE change = 'reloaded'
    UNION ALL
    SELECT
        tenant, session_id, thread_id, thread_order, turn_id, event_time, item_id, 'read' AS again, reads AS key,
        token_estimate AS tokens
    FROM reading
),
pairs AS
(
    SELECT
        e.tenant AS tenant, e.session_id AS session_id, e.thread_id AS thread_id, e.policy AS policy,
        e.pass_id AS pass_id, e.item_id AS item_id, e.reads AS reads, e.reason AS reason,
        e.turn_id AS elided_turn_id, e.event_time AS elided_at, e.before - e.after AS saved_tokens, c.again AS again,
        c.item_id AS again_item_id, c.turn_id AS again_turn_id, c.event_time AS again_at, c.tokens AS again_tokens,
        c.thread_order AS again_order
    FROM (SELECT *, arrayJoin([('reloaded', item_id), ('read', reads)]) AS sought FROM elided) AS e
    ASOF INNER JOIN comings AS c
        ON c.tenant = e.tenant
            AND c.session_id = e.session_id
            AND c.thread_id = e.thread_id
            AND c.again = e.sought.1
            AND c.key = e.sought.2
            AND c.thread_order > e.thread_order
)
SELECT
    tenant, session_id, thread_id, policy, pass_id, item_id, reads, reason, elided_turn_id, elided_at, saved_tokens,
    again, again_item_id, again_turn_id, again_at, again_tokens
FROM pairs
ORDER BY tenant, session_id, thread_id, elided_at, pass_id, item_id, again_order
LIMIT 1 BY tenant, session_id, thread_id, pass_id, item_id
LIMIT {limit:UInt32}
