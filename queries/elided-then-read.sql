-- What was elided and then read again, so that eliding it cost more than it saved?
-- Section: What was shortened or summarised?
-- First: item_id, reads, saved_tokens, again, again_tokens, elided_turn_id, again_turn_id
--
-- Such reads make an agent's quality jagged: it lacks what it had a moment ago. A row is an
-- elided item and the first time after that it was reloaded, or that the same file or
-- resource was read again by another item of the thread.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' is all
--   session_id  String  id    = ''                only this session; '' is all
--   days        UInt32  days  = 0    [0..36500]   recorded in the last days before the newest fact; 0 is all
--   limit       UInt32  rows  = 100  [1..100000]  most rows to return
-- Columns:
--   tenant           id      the tenant
--   session_id       id      the session
--   thread_id        id      the thread
--   policy           text    the elision policy
--   pass_id          id      the pass that elided the item
--   item_id          id      the item
--   reads            text    the file or resource that it shows; '' if not known
--   reason           text    why the policy chose it; '' if not said
--   elided_turn_id   id      the turn in which it was elided
--   elided_at        time    when
--   saved_tokens     tokens  that the pass kept out of the window; NULL if not known
--   again            text    reloaded, or read for another read of the same
--   again_item_id    id      the item that came
--   again_turn_id    id      its turn
--   again_at         time    when
--   again_tokens     tokens  its size; NULL if not known
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
