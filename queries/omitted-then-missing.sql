-- Which items were left out and later named as missing?
-- Section: What was chosen, and what was left out?
--
-- Only gaps of the same session that were detected after the omission count.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' means all tenants
--   session_id  String  id    = ''                only this session; '' means all sessions
--   days        UInt32  days  = 0    [0..36500]   only facts of this many days before the newest fact; 0 means all
--   limit       UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant           id      the tenant
--   item_ref         id      the item
--   omissions        count   omissions of the item before the gap
--   gaps             count   gaps that name the item as a candidate
--   reasons          text    reasons of the omissions
--   tokens           tokens  size of the item at the omission; NULL if not known
--   last_session_id  id      session of the last gap
--   last_question    text    the last question that the item could answer
SELECT
    o.tenant AS tenant, o.item_ref AS item_ref, uniqExact(o.incarnation, o.stream_seq) AS omissions,
    uniqExact(g.missing_id) AS gaps, arraySort(groupUniqArray(o.reason)) AS reasons, max(o.tokens) AS tokens,
    argMax(g.session_id, g.detected_at) AS last_session_id,
    argMax(g.question, g.detected_at) AS last_question
FROM
(
    SELECT *
    FROM omissions
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
) AS o
INNER JOIN
(
    SELECT tenant, session_id, missing_id, question, detected_at, arrayJoin(candidate_item_refs) AS item_ref
    FROM gaps
) AS g
    ON g.tenant = o.tenant AND g.item_ref = o.item_ref
WHERE g.session_id = o.session_id AND g.detected_at >= o.event_time
GROUP BY tenant, item_ref
ORDER BY gaps DESC, omissions DESC, tenant, item_ref
LIMIT {limit:UInt32}
