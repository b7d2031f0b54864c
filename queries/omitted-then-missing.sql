-- Which items were left out and asked for as missing later?
-- Section: What was chosen, what left out?
--
-- Only gaps of the same session that were detected after the omission count.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' is all
--   session_id  String  id    = ''                only this session; '' is all
--   days        UInt32  days  = 0    [0..36500]   recorded in the last days before the newest fact; 0 is all
--   limit       UInt32  rows  = 100  [1..100000]  most rows to return
-- Columns:
--   tenant           id      the tenant
--   item_ref         id      the item
--   omissions        count   times it was left out before it was missed
--   gaps             count   gaps that name it as a candidate
--   reasons          text    why it was left out
--   tokens           tokens  its size when it was left out; NULL if not known
--   last_session_id  id      session of the last such gap
--   last_question    text    the last question that it would have answered
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
