-- Which goals did a compaction keep, and which did it lose?
-- Section: What was shortened or summarised?
-- First: compaction_id, event_time, named, kept, all_kept, lost, goals
--
-- A goal is kept if the summary names it, or if the compaction put it back into the window.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' means all tenants
--   session_id  String  id    = ''                only this session; '' means all sessions
--   days        UInt32  days  = 0    [0..36500]   only facts of this many days before the newest fact; 0 means all
--   limit       UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant         id    the tenant
--   session_id     id    the session
--   thread_id      id    the thread
--   event_time     time  when the compaction was completed
--   compaction_id  id    the compaction
--   summary_id     id    the summary
--   goals          id    goals in force before; [] if not known
--   named          id    goals that the summary names
--   kept           id    goals that are kept
--   lost           id    goals that are lost
--   all_kept       bool  whether all goals are kept; NULL if the goals are not known
WITH
versions AS
(
    SELECT
        tenant, session_id, attempt_id, summary_id, arraySort(groupArray((thread_order, goal_refs))) AS versions
    FROM summaries
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
    GROUP BY tenant, session_id, attempt_id, summary_id
)
SELECT
    c.tenant AS tenant, c.session_id AS session_id, c.thread_id AS thread_id, c.event_time AS event_time,
    c.compaction_id AS compaction_id, c.summary_ref AS summary_id, c.goal_refs AS goals,
    if(
        arrayExists(v -> v.1 <= c.thread_order, s.versions), arrayLast(v -> v.1 <= c.thread_order, s.versions),
        s.versions[1]).2 AS named,
    arrayFilter(g -> has(named, g) OR has(c.reinjected_refs, g), goals) AS kept,
    arrayFilter(g -> NOT has(kept, g), goals) AS lost,
    if(empty(goals), NULL, CAST(empty(lost), 'Bool')) AS all_kept
FROM (
    SELECT *
    FROM compactions
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND change = 'completed'
) AS c
LEFT JOIN versions AS s
    ON s.tenant = c.tenant
        AND s.session_id = c.session_id
        AND s.attempt_id = c.attempt_id
        AND s.summary_id = c.summary_ref
ORDER BY event_time DESC, tenant, session_id, c.stream_seq
LIMIT {limit:UInt32}
