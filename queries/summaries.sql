-- Which summaries replace parts of a conversation, and what did they lose?
-- Section: What was shortened or summarised?
-- First: summary_id, created_at, tokens, covers_through_position, loss_notes, session_id
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' means all tenants
--   session_id  String  id    = ''              only this session; '' means all sessions
--   days        UInt32  days  = 0   [0..36500]  only facts of this many days before the newest fact; 0 means all
-- Columns:
--   tenant                   id        the tenant
--   session_id               id        the session
--   compact_summaries        count     summaries of the session, repeated on each of its rows
--   summary_id               id        the summary
--   summary_kind             text      kind of the summary
--   created_at               time      time of the first version
--   versions                 count     number of versions
--   tokens                   tokens    size of the summary; NULL if not known
--   covers_through_position  position  last position of the item log that it covers; NULL if not known
--   source_item_refs         id        items that the summary covers
--   loss_notes               text      losses that the summary names
--   open_questions           text      questions that the summary leaves open
--   content_ref              id        location of the text
SELECT
    tenant, session_id, count() OVER (PARTITION BY tenant, session_id) AS compact_summaries, summary_id, summary_kind,
    created_at, versions, last.1 AS tokens, last.2 AS covers_through_position, last.3 AS source_item_refs,
    last.4 AS loss_notes, last.5 AS open_questions, last.6 AS content_ref
FROM
(
    SELECT
        tenant, session_id, summary_id, any(summary_kind) AS summary_kind, min(event_time) AS created_at,
        count() AS versions,
        argMax(
            (tokens, covers_through_position, source_item_refs, loss_notes, open_questions, content_ref), thread_order
        ) AS last
    FROM summaries
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
    GROUP BY tenant, session_id, attempt_id, summary_id
)
ORDER BY tenant, session_id, created_at, summary_id
