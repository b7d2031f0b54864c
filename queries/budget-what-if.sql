-- What would have been chosen with another budget?
-- Section: What was chosen, and what was left out?
-- First: turn_id, item_ref, tokens, recorded_outcome, projected_outcome, flip
--
-- The query replays recorded selections by their policy's own order: rank, then score, then the recorded
-- order. Two kinds of candidates keep their outcome: candidates that were left out for a reason other than
-- budget_limit, and candidates without known tokens. The other content of the window also stays. All
-- results are projected; no fact records them. Selections without a known budget are left out.
-- The query reads the table of budgets itself. A row that is stored twice makes no difference there. The
-- query examines only selections that may flip.
--
-- Parameters:
--   tenant      String  id       = ''                      only this tenant; '' means all tenants
--   session_id  String  id       = ''                      only this session; '' means all sessions
--   days        UInt32  days     = 0      [0..36500]       only facts of this many days before the newest fact; 0
--       means all
--   max_tokens  UInt32  tokens   = 0      [0..4000000000]  limit of the other window, with the recorded reserve; 0
--       means percent of the recorded limit
--   percent     UInt32  percent  = 100    [1..10000]       percentage of the recorded window, if max_tokens is 0
--   show        String  text     = flips  {flips|all}      the candidates that flip, or all candidates
--   limit       UInt32  rows     = 1000   [1..1000000]     maximum number of rows
-- Columns:
--   tenant              id      the tenant
--   session_id          id      the session
--   turn_id             id      the turn
--   call_id             id      the model call
--   selection_id        id      the selection
--   policy              text    the selection policy
--   item_ref            id      the candidate
--   rank                count   rank of the candidate, 1 is best; NULL if not given
--   score               score   score of the candidate; NULL if not given
--   tokens              tokens  size of the candidate; NULL if not known
--   recorded_outcome    text    recorded outcome: selected or omitted
--   recorded_reason     text    recorded reason of the omission
--   projected_outcome   text    outcome with the other budget: selected or omitted
--   flip                text    direction of the flip: to selected, to omitted, or '' for none
--   basis               text    always projected: no fact records the row
--   rule                text    rule by which the recorded choice follows from order and sizes: cutoff (all until the
--       first that does not fit), fill (all that fit), anchored (neither: more room only adds, less only
--       removes, in order)
--   recorded_limit      tokens  recorded window − reserve
--   projected_limit     tokens  window − reserve with the other budget
--   candidates          count   candidates of the selection
--   recorded_selected   count   candidates that were selected
--   projected_selected  count   candidates selected with the other budget
--   projected_omitted   count   candidates omitted with the other budget
WITH
-- The limits of the newest budget of a call. A row that is stored twice makes no difference here.
limits AS
(
    SELECT
        sipHash128(tenant, session_id, attempt_id, call_id) AS call, argMax(assumeNotNull(max_tokens), at) AS window,
        argMax(ifNull(reserved_tokens, 0), at) AS reserve,
        nullIf(argMax(ifNull(actual_tokens, -1), ifNull(sequence, toInt64(stream_seq)) AS at), -1) AS actual,
        window - reserve AS recorded_limit,
        if(
            {max_tokens:UInt32} > 0, toInt64({max_tokens:UInt32}), intDiv(window * {percent:UInt32}, 100)
        ) - reserve AS projected_limit
    FROM windows
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND record_kind = 'budget'
        AND JSONExtractInt(metadata, 'part') <= 1
        AND call_id != ''
        AND max_tokens IS NOT NULL
    GROUP BY call
),
summed AS
(
    SELECT
        sipHash128(tenant, session_id, attempt_id, selection_id) AS selection, any(tenant) AS owner,
        any(session_id) AS session, any(attempt_id) AS attempt, any(call_id) AS called, any(selection_id) AS named,
        max(has(reasons, 'budget_limit')) AS held_back,
        max(arrayExists((o, t) -> o = 'selected' AND t IS NOT NULL, outcomes, tokens)) AS giving,
        sum(arraySum((o, t) -> if(o = 'selected', ifNull(t, 0), 0), outcomes, tokens)) AS chosen_tokens
    FROM selections
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND change = 'completed'
    GROUP BY selection
),
ranked AS
(
    SELECT
        selection,
        countIf({show:String} = 'all' OR projected_limit < recorded_limit AND giving) OVER (
            ORDER BY owner, session, called, named ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS earlier
    FROM summed AS s
    INNER JOIN limits AS b ON b.call = sipHash128(s.owner, s.session, s.attempt, s.called)
    WHERE {show:String} = 'all'
        OR projected_limit > recorded_limit AND held_back
        OR projected_limit < recorded_limit AND ifNull(actual, chosen_tokens) > projected_limit
),
-- The selections to replay. More room can only add candidates that were left out for lack of room. Less
-- room removes candidates only if the used tokens no longer fit. Of the
-- selections, the query reads only the first ones that surely give as many rows as the limit.
worth AS (SELECT selection FROM ranked WHERE earlier < {limit:UInt32}),
choices AS
(
    SELECT
        tenant, session_id, attempt_id, any(turn_id) AS turn_id, any(call_id) AS call_id, selection_id,
        any(policy) AS policy,
        arraySort(
            x -> (ifNull(x.2, 9223372036854775807), -ifNull(x.3, -1e308), x.7, x.8),
            groupArray((item_ref, rank, score, size, outcome = 'selected', toString(reason), thread_order, place))
        ) AS list
    FROM
    (
        SELECT
            tenant, session_id, attempt_id, turn_id, call_id, selection_id, policy, thread_order, item_ref, rank,
            score, size, outcome, reason, place
        FROM selections
        ARRAY JOIN item_refs AS item_ref, ranks AS rank, scores AS score, tokens AS size, outcomes AS outcome,
            reasons AS reason, arrayEnumerate(item_refs) AS place
        WHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND ({session_id:String} = '' OR session_id = {session_id:String})
            AND (
                {days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
            AND change = 'completed'
            AND sipHash128(tenant, session_id, attempt_id, selection_id) IN (worth)
    )
    GROUP BY tenant, session_id, attempt_id, selection_id
),
measured AS
(
    SELECT
        s.tenant AS tenant, s.session_id AS session_id, s.turn_id AS turn_id, s.call_id AS call_id,
        s.selection_id AS selection_id, s.policy AS policy, s.list AS list,
        arrayMap(x -> x.4 IS NOT NULL AND (x.5 OR x.6 = 'budget_limit'), list) AS movable,
        arrayMap(x -> toInt64(ifNull(x.4, 0)), arrayFilter((x, m) -> m, list, movable)) AS sizes,
        arrayMap(x -> toUInt8(x.5), arrayFilter((x, m) -> m, list, movable)) AS chosen,
        arraySum((t, b) -> t * b, sizes, chosen) AS chosen_tokens,
        coalesce(b.actual, arraySum(x -> if(x.5, toInt64(ifNull(x.4, 0)), 0), list)) - chosen_tokens AS beside,
        b.recorded_limit AS recorded_limit, b.projected_limit AS projected_limit,
        recorded_limit - beside AS recorded_room, projected_limit - beside AS projected_room
    FROM choices AS s
    INNER JOIN limits AS b ON b.call = sipHash128(s.tenant, s.session_id, s.attempt_id, s.call_id)
),
replayed AS
(
    SELECT
        *,
        arrayMap(t -> toUInt8(t <= recorded_room), arrayCumSum(sizes)) = chosen AS cuts_off,
        arrayFold(
            (a, t) -> if(
                a.1 + t <= recorded_room, (a.1 + t, arrayPushBack(a.2, toUInt8(1))),
                (a.1, arrayPushBack(a.2, toUInt8(0)))),
            sizes, (toInt64(0), emptyArrayUInt8())).2 = chosen AS fills,
        multiIf(cuts_off, 'cutoff', fills, 'fill', 'anchored') AS rule,
        arrayCumSum(arrayMap((t, b) -> t * b, sizes, chosen)) AS kept_so_far,
        arrayCumSum(arrayMap((t, b) -> t * (1 - b), sizes, chosen)) AS added_so_far,
        multiIf(
            projected_limit = recorded_limit, chosen,
            rule = 'cutoff', arrayMap(t -> toUInt8(t <= projected_room), arrayCumSum(sizes)),
            rule = 'fill',
            arrayFold(
                (a, t) -> if(
                    a.1 + t <= projected_room, (a.1 + t, arrayPushBack(a.2, toUInt8(1))),
                    (a.1, arrayPushBack(a.2, toUInt8(0)))),
                sizes, (toInt64(0), emptyArrayUInt8())).2,
            arrayMap(
                (b, k, n) -> toUInt8(
                    if(
                        b, projected_limit > recorded_limit OR k <= projected_room,
                        projected_limit > recorded_limit AND chosen_tokens + n <= projected_room)),
                chosen, kept_so_far, added_so_far)) AS projected,
        arrayMap((x, m, i) -> if(m, projected[i], toUInt8(x.5)), list, movable, arrayCumSum(movable)) AS outcomes
    FROM measured
)
SELECT
    tenant, session_id, turn_id, call_id, selection_id, policy, c.1 AS item_ref, c.2 AS rank, c.3 AS score,
    c.4 AS tokens, if(c.5, 'selected', 'omitted') AS recorded_outcome, c.6 AS recorded_reason,
    if(o, 'selected', 'omitted') AS projected_outcome,
    multiIf(o AND NOT c.5, 'to selected', c.5 AND NOT o, 'to omitted', '') AS flip, 'projected' AS basis, rule,
    recorded_limit, projected_limit, toUInt64(length(list)) AS candidates,
    toUInt64(arrayCount(x -> x.5, list)) AS recorded_selected,
    toUInt64(arrayCount(x -> x = 1, outcomes)) AS projected_selected,
    candidates - projected_selected AS projected_omitted
FROM replayed
ARRAY JOIN list AS c, outcomes AS o, arrayEnumerate(list) AS place
WHERE {show:String} = 'all' OR o != c.5
ORDER BY tenant, session_id, call_id, selection_id, place
LIMIT {limit:UInt32}
