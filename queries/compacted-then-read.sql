-- Which files and resources were read again after a compaction?
-- Section: What was shortened or summarised?
-- First: compaction_id, reads, again_item_id, again_tokens, calls_between, again_turn_id
--
-- A summary that lacks what the agent still needs makes it read the same again. A row is a compaction and a
-- file or resource that an item of the thread had shown before it, and the first item after it that shows the
-- same. What is read again only after the next compaction counts for that one. Where no fact names the file,
-- it is the argument in the title of the result of a tool whose name has read or view.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' means all tenants
--   session_id  String  id    = ''                only this session; '' means all sessions
--   days        UInt32  days  = 0    [0..36500]   only facts of this many days before the newest fact; 0 means all
--   limit       UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant          id      the tenant
--   session_id      id      the session
--   thread_id       id      the thread
--   compaction_id   id      the compaction
--   compacted_at    time    time of the compaction
--   reads           text    the file or resource
--   before_item_id  id      the last item before the compaction that shows it
--   before_tokens   tokens  size of that item; NULL if not known
--   again_item_id   id      the first item after the compaction that shows it
--   again_turn_id   id      turn of the later item
--   again_at        time    time of the later item
--   again_tokens    tokens  size of the later item; NULL if not known
--   calls_between   count   model calls of the thread from the compaction to the later item
WITH
cuts AS
(
    SELECT
        tenant, session_id, thread_id, compaction_id, min(event_time) AS compacted_at, min(thread_order) AS cut_order
    FROM compactions
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND change = 'completed'
    GROUP BY tenant, session_id, thread_id, compaction_id
),
reading AS
(
    SELECT
        tenant, session_id, thread_id, thread_order, turn_id, event_time, item_id, token_estimate,
        if(
            reads = '' AND layer = 'tool_results',
            extract(title, '^(?i:[a-z_]*(?:read|view)[a-z_]*) ([^ ]*[/.][^ ]*[^ …])$'), reads) AS shown
    FROM item_versions
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND ({session_id:String} != '' OR (tenant, session_id) IN (SELECT tenant, session_id FROM cuts))
        AND change = 'added'
        AND shown != ''
),
placed AS
(
    SELECT
        r.*, c.compaction_id AS compaction_id, c.compacted_at AS compacted_at, c.cut_order AS cut_order,
        lagInFrame(r.item_id) OVER same AS before_item_id, lagInFrame(r.token_estimate) OVER same AS before_tokens,
        lagInFrame(r.thread_order, 1, r.thread_order) OVER same AS before_order
    FROM reading AS r
    ASOF LEFT JOIN cuts AS c
        ON c.tenant = r.tenant
            AND c.session_id = r.session_id
            AND c.thread_id = r.thread_id
            AND c.cut_order < r.thread_order
    WINDOW same AS (
        PARTITION BY r.tenant, r.session_id, r.thread_id, r.shown
        ORDER BY r.thread_order
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
counted AS
(
    SELECT tenant, session_id, thread_id, arraySort(groupArray(thread_order)) AS orders
    FROM model_calls
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({session_id:String} != '' OR (tenant, session_id) IN (SELECT tenant, session_id FROM cuts))
    GROUP BY tenant, session_id, thread_id
)
SELECT
    p.tenant AS tenant, p.session_id AS session_id, p.thread_id AS thread_id, p.compaction_id AS compaction_id,
    p.compacted_at AS compacted_at, p.shown AS reads, p.before_item_id AS before_item_id,
    p.before_tokens AS before_tokens, p.item_id AS again_item_id, p.turn_id AS again_turn_id,
    p.event_time AS again_at, p.token_estimate AS again_tokens,
    arrayCount(o -> o > p.cut_order AND o < p.thread_order, n.orders) AS calls_between
FROM placed AS p
LEFT JOIN counted AS n
    ON n.tenant = p.tenant AND n.session_id = p.session_id AND n.thread_id = p.thread_id
WHERE p.compaction_id != '' AND p.before_order < p.cut_order
ORDER BY tenant, session_id, thread_id, compacted_at, p.thread_order, again_item_id
LIMIT {limit:UInt32}
