-- How do the estimates of each layer compare, and which billed tokens belong to no layer?
-- Section: What did the model see?
--
-- Three facts give the size of a layer. Each has its own column, and none is rescaled. In each column, the
-- rows of a call add up to the billed tokens. The last row, (unattributed), is the signed rest. The rest
-- includes the system prompt and tools if no layer has them.
--
-- Parameters:
--   tenant      String  id    = ''                   only this tenant; '' means all tenants
--   session_id  String  id    required               the session
--   turn_id     String  id    = ''                   only this turn; '' means all turns
--   call_id     String  id    = ''                   only this call; '' means all calls
--   limit       UInt32  rows  = 10000   [1..100000]  maximum number of rows
-- Columns:
--   turn_id          id      the turn
--   call_id          id      the model call
--   model            text    the model
--   layer            text    the layer; (unattributed) is billed − all layers
--   usage_tokens     tokens  tokens in the usage record; NULL if not recorded
--   assembly_tokens  tokens  sum of the assembly's blocks; NULL without an assembly
--   budget_tokens    tokens  sum of the budget's segments; NULL without a budget
--   conflict_tokens  tokens  largest − smallest of the known estimates; 0 is agreement, NULL with fewer than two
--       estimates
--   billed_tokens    tokens  billed window of the call, repeated on each row; NULL if not billed
SELECT
    turn_id, call_id, model, part.1 AS layer, part.2 AS usage_tokens, part.3 AS assembly_tokens,
    part.4 AS budget_tokens,
    if(
        length(arrayFilter(t -> t IS NOT NULL, [part.2, part.3, part.4])) < 2, NULL,
        arrayMax(
            t -> ifNull(t, -9000000000000000000), [part.2, part.3, part.4]
        ) - arrayMin(t -> ifNull(t, 9000000000000000000), [part.2, part.3, part.4])) AS conflict_tokens,
    billed_tokens
FROM
(
    SELECT
        c.turn_id AS turn_id, c.call_id AS call_id, c.model AS model, c.thread_order AS thread_order,
        c.window_tokens AS billed_tokens,
        arrayPushBack(
            l.layers,
            ('(unattributed)', c.window_tokens - l.totals.1, c.window_tokens - l.totals.2, c.window_tokens - l.totals.3)
        ) AS rows
    FROM
    (
        SELECT *
        FROM model_calls
        WHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND session_id = {session_id:String}
            AND ({turn_id:String} = '' OR turn_id = {turn_id:String})
            AND ({call_id:String} = '' OR call_id = {call_id:String})
            AND NOT synthetic
    ) AS c
    LEFT JOIN
    (
        SELECT
            tenant, session_id, attempt_id, call_id,
            arraySort(groupArray((layer, usage_tokens, assembly_tokens, budget_tokens))) AS layers,
            (sum(usage_tokens), sum(assembly_tokens), sum(budget_tokens)) AS totals
        FROM call_layers
        WHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND session_id = {session_id:String}
        GROUP BY tenant, session_id, attempt_id, call_id
    ) AS l
        ON l.tenant = c.tenant AND l.session_id = c.session_id AND l.attempt_id = c.attempt_id AND l.call_id = c.call_id
)
ARRAY JOIN rows AS part
ORDER BY thread_order, call_id, layer = '(unattributed)', layer
LIMIT {limit:UInt32}
