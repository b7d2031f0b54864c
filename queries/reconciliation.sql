-- How much do estimated tokens differ from billed tokens, call by call?
-- Section: What did the model see?
-- First: session_id, turn_id, call_id, billed_tokens, attributed_tokens, unattributed, unattributed_share, model
--
-- Estimates are never rescaled. The largest difference comes first.
-- The query reads the table itself for usage records. Each record is next to its call. A row that is stored
-- twice makes no difference there.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' means all tenants
--   session_id  String  id    = ''                only this session; '' means all sessions
--   days        UInt32  days  = 0    [0..36500]   only facts of this many days before the newest fact; 0 means all
--   limit       UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant              id      the tenant
--   session_id          id      the session
--   turn_id             id      the turn
--   call_id             id      the model call
--   model               text    the model
--   estimator           text    the estimator of the estimates
--   billed_tokens       tokens  window that the provider billed
--   attributed_tokens   tokens  sum of the layers with known tokens; NULL if none is known
--   estimated_tokens    tokens  total of the producer; NULL if not given
--   unattributed        tokens  billed − attributed, signed; it includes system prompt and tools if no layer has them
--   unknown_layers      count   layers without known tokens
--   unattributed_share  ratio   unattributed / billed
--   assembled_tokens    tokens  sum of the blocks of the call's assembly; NULL without an assembly, or on a base
--   budgeted_tokens     tokens  sum of the segments of the call's budget; NULL without a budget
--   conflict_tokens     tokens  largest − smallest of the four known estimates; 0 is agreement, NULL with fewer than
--       two estimates
WITH
billed AS
(
    SELECT *
    FROM model_calls
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND window_tokens IS NOT NULL
        AND NOT synthetic
),
estimates AS
(
    SELECT
        incarnation, stream_seq, estimator,
        if(unknown = length(segment_tokens), NULL, arraySum(t -> ifNull(t, 0), segment_tokens)) AS attributed,
        arrayCount(t -> t IS NULL, segment_tokens) AS unknown
    FROM windows
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND record_kind = 'usage'
        AND notEmpty(segments)
),
offs AS
(
    SELECT
        c.tenant AS tenant, c.session_id AS session_id, c.turn_id AS turn_id, c.attempt_id AS attempt_id,
        c.call_id AS call_id, toString(c.model) AS model, c.window_tokens AS window_tokens,
        c.estimated_tokens AS estimated_tokens,
        l.estimator AS estimator, l.attributed AS attributed, l.unknown AS unknown,
        window_tokens - coalesce(attributed, estimated_tokens) AS off
    FROM billed AS c
    LEFT ANY JOIN estimates AS l ON l.incarnation = c.incarnation AND l.stream_seq = c.stream_seq
    ORDER BY abs(off) DESC NULLS LAST, tenant, session_id, call_id
    LIMIT {limit:UInt32}
),
-- The calls with the largest differences. A usage record and its call are one event.
(
    SELECT groupArray(
        (
            sipHash128(c.tenant, c.session_id, c.attempt_id, c.call_id), c.tenant, c.session_id, c.turn_id, c.call_id,
            c.model, toString(c.estimator), c.window_tokens, c.attributed, c.estimated_tokens, c.unknown, c.off))
    FROM offs AS c
) AS furthest,
-- The sum of each record, NULL if no value is known. Of each call, all parts of the newest record
-- count.
assembled AS
(
    SELECT call, argMax((total, 0), at).1 AS total
    FROM
    (
        SELECT
            sipHash128(tenant, session_id, attempt_id, call_id) AS call, assembly_id, max(thread_order) AS at,
            if(
                countIf(has(coverage_reasons, 'base_missing')) > 0, NULL,
                sum(if(arrayExists(t -> t IS NOT NULL, block_tokens), arraySum(t -> ifNull(t, 0), block_tokens), NULL))
            ) AS total
        FROM assemblies
        WHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND ({session_id:String} = '' OR session_id = {session_id:String})
            AND call_id != ''
            AND sipHash128(tenant, session_id, attempt_id, call_id) IN (SELECT arrayJoin(arrayMap(c -> c.1, furthest)))
        GROUP BY call, assembly_id
    )
    GROUP BY call
),
budgeted AS
(
    SELECT call, argMax((total, 0), at).1 AS total
    FROM
    (
        SELECT
            sipHash128(tenant, session_id, attempt_id, call_id) AS call, budget_id, max(thread_order) AS at,
            sum(
                if(arrayExists(t -> t IS NOT NULL, segment_tokens), arraySum(t -> ifNull(t, 0), segment_tokens), NULL)
            ) AS total
        FROM budgets
        WHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND ({session_id:String} = '' OR session_id = {session_id:String})
            AND call_id != ''
            AND sipHash128(tenant, session_id, attempt_id, call_id) IN (SELECT arrayJoin(arrayMap(c -> c.1, furthest)))
        GROUP BY call, budget_id
    )
    GROUP BY call
)
SELECT
    c.2 AS tenant, c.3 AS session_id, c.4 AS turn_id, c.5 AS call_id, c.6 AS model, c.7 AS estimator,
    c.8 AS billed_tokens, c.9 AS attributed_tokens, c.10 AS estimated_tokens, c.12 AS unattributed,
    c.11 AS unknown_layers, unattributed / nullIf(billed_tokens, 0) AS unattributed_share, a.total AS assembled_tokens,
    b.total AS budgeted_tokens,
    if(
        arrayCount(t -> t IS NOT NULL, [attributed_tokens, estimated_tokens, assembled_tokens, budgeted_tokens]) < 2,
        NULL,
        arrayMax(
            t -> ifNull(t, -9000000000000000000),
            [attributed_tokens, estimated_tokens, assembled_tokens, budgeted_tokens]
        ) - arrayMin(
            t -> ifNull(t, 9000000000000000000),
            [attributed_tokens, estimated_tokens, assembled_tokens, budgeted_tokens])) AS conflict_tokens
FROM (SELECT arrayJoin(furthest) AS c, c.1 AS call) AS c
LEFT JOIN assembled AS a ON a.call = c.call
LEFT JOIN budgeted AS b ON b.call = c.call
ORDER BY abs(unattributed) DESC NULLS LAST, tenant, session_id, call_id
