-- From which sources are candidates taken, and from which are they left out?
-- Section: What was chosen, what left out?
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' is all
--   session_id  String  id    = ''                only this session; '' is all
--   days        UInt32  days  = 0    [0..36500]   recorded in the last days before the newest fact; 0 is all
--   limit       UInt32  rows  = 100  [1..100000]  most rows to return
-- Columns:
--   tenant           id      the tenant
--   source_kind      text    kind of the item's source; its context kind where it has none
--   candidates       count   times a candidate was decided
--   selected         count   times it was selected
--   acceptance       ratio   selected / candidates
--   selected_tokens  tokens  tokens selected, as far as known
--   omitted_tokens   tokens  tokens omitted, as far as known
--   mean_score       score   mean score of the candidates that have one
SELECT c.tenant AS tenant, multiIf(i.kind != '', i.kind, i.context_kind != '', i.context_kind, 'unknown') AS source_kind, count() AS candidates,
    countIf(c.outcome = 'selected') AS selected, selected / candidates AS acceptance, sumIf(c.tokens, c.outcome = 'selected') AS selected_tokens,
    sumIf(c.tokens, c.outcome = 'omitted') AS omitted_tokens, avg(c.score) AS mean_score
FROM (SELECT * FROM turn_candidates WHERE ({tenant:String} = '' OR tenant = {tenant:String})
       AND ({session_id:String} = '' OR session_id = {session_id:String})
       AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))) AS c
LEFT JOIN
(
    SELECT tenant, session_id, item_id, argMax(toString(source_kinds[1]), thread_order) AS kind, argMax(toString(context_kind), thread_order) AS context_kind
    FROM item_versions WHERE change != 'removed'
        AND ({tenant:String} = '' OR tenant = {tenant:String}) AND ({session_id:String} = '' OR session_id = {session_id:String})
    GROUP BY tenant, session_id, item_id
) AS i ON i.tenant = c.tenant AND i.session_id = c.session_id AND i.item_id = c.item_ref
GROUP BY tenant, source_kind
ORDER BY candidates DESC, tenant, source_kind
LIMIT {limit:UInt32}
