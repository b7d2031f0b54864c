-- How much do compactions save, what do they lose, and how stale are their summaries?
-- Section: What was shortened or summarised?
-- First: compaction_id, completed_at, trigger, tokens_before, tokens_after, ratio, staleness
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' means all tenants
--   session_id  String  id    = ''                only this session; '' means all sessions
--   days        UInt32  days  = 0    [0..36500]   only facts of this many days before the newest fact; 0 means all
--   limit       UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant             id       the tenant
--   session_id         id       the session
--   thread_id          id       the thread
--   compaction_id      id       the compaction
--   completed_at       time     time of completion
--   method             text     method of the summary
--   trigger            text     cause that started the compaction
--   tokens_before      tokens   tokens of the window before; NULL if not known
--   tokens_after       tokens   tokens of the window after, or else of the summary; NULL if not known
--   ratio              ratio    tokens_after / tokens_before
--   reinjected_tokens  tokens   tokens of the state that was put back, as far as known
--   loss_notes         text     content that is lost
--   summary_ref        id       the summary
--   staleness          entries  last position of the item log − last position that the summary covers; NULL if not
--       known
--   generations        count    older summaries that it builds on
WITH
listed AS
(
    SELECT *
    FROM compactions
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND change = 'completed'
    ORDER BY event_time, tenant, session_id, compaction_id
    LIMIT {limit:UInt32}
)
SELECT
    c.tenant AS tenant, c.session_id AS session_id, c.thread_id AS thread_id, c.compaction_id AS compaction_id,
    c.event_time AS completed_at, c.method AS method, c.trigger AS trigger, c.tokens_before AS tokens_before,
    coalesce(c.tokens_after, s.tokens) AS tokens_after, tokens_after / nullIf(tokens_before, 0) AS ratio,
    arraySum(arrayMap(t -> ifNull(t, 0), c.reinjected_tokens)) AS reinjected_tokens,
    arrayDistinct(arrayConcat(c.loss_notes, s.loss_notes)) AS loss_notes,
    c.summary_ref AS summary_ref, h.head - coalesce(s.covers, c.last_position) AS staleness,
    g.generations AS generations
FROM listed AS c
LEFT JOIN
(
    SELECT
        tenant, session_id, attempt_id, summary_id, max((thread_order, tokens)).2 AS tokens,
        max((thread_order, covers_through_position)).2 AS covers, argMax(loss_notes, thread_order) AS loss_notes
    FROM summaries
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({session_id:String} != '' OR (tenant, session_id) IN (SELECT tenant, session_id FROM listed))
    GROUP BY tenant, session_id, attempt_id, summary_id
) AS s
    ON s.tenant = c.tenant
        AND s.session_id = c.session_id
        AND s.attempt_id = c.attempt_id
        AND s.summary_id = c.summary_ref
LEFT JOIN
(
    SELECT tenant, session_id, thread_id, max(position) AS head
    FROM log_entries
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({session_id:String} != '' OR (tenant, session_id) IN (SELECT tenant, session_id FROM listed))
    GROUP BY tenant, session_id, thread_id
) AS h
    ON h.tenant = c.tenant AND h.session_id = c.session_id AND h.thread_id = c.source_thread_id
LEFT JOIN
(
    SELECT tenant, session_id, compaction_id, max(generation) AS generations
    FROM compaction_lineage
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({session_id:String} != '' OR (tenant, session_id) IN (SELECT tenant, session_id FROM listed))
    GROUP BY tenant, session_id, compaction_id
) AS g
    ON g.tenant = c.tenant AND g.session_id = c.session_id AND g.compaction_id = c.compaction_id
ORDER BY completed_at, tenant, session_id, compaction_id
LIMIT {limit:UInt32}
