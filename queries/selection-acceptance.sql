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
SELECT tenant, source_kind, sum(decided) AS candidates, sum(taken) AS selected, selected / candidates AS acceptance, sum(taken_tokens) AS selected_tokens,
    sum(left_tokens) AS omitted_tokens, sum(score_sum) / nullIf(sum(scored), 0) AS mean_score
FROM
(
    SELECT any(tenant) AS tenant, if(argMaxIf(kind, at, known) AS found = '', 'unknown', found) AS source_kind, countIf(NOT known) AS decided, countIf(outcome = 'selected') AS taken,
        sumIf(tokens, outcome = 'selected') AS taken_tokens, sumIf(tokens, outcome = 'omitted') AS left_tokens, sum(score) AS score_sum, count(score) AS scored
    FROM
    (
        SELECT tenant, sipHash128(tenant, session_id, item_ref) AS item, false AS known, '' AS kind, toInt64(0) AS at, toString(outcome) AS outcome, tokens, score
        FROM turn_candidates
        WHERE ({tenant:String} = '' OR tenant = {tenant:String})
            AND ({session_id:String} = '' OR session_id = {session_id:String})
            AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        UNION ALL
        SELECT tenant, sipHash128(tenant, session_id, item_id), true, if(notEmpty(source_kinds) AND source_kinds[1] != '', toString(source_kinds[1]), toString(context_kind)), thread_order, '', NULL, NULL
        FROM item_versions
        WHERE change != 'removed'
            AND ({tenant:String} = '' OR tenant = {tenant:String})
            AND ({session_id:String} = '' OR session_id = {session_id:String})
    )
    GROUP BY item
    HAVING decided > 0
)
GROUP BY tenant, source_kind
ORDER BY candidates DESC, tenant, source_kind
LIMIT {limit:UInt32}
