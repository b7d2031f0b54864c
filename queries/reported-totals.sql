-- What did the program that ran a session report in sum, beside what its calls add up to?
-- Section: What was used?
-- First: session_id, calls, input_tokens, reported_input_tokens, output_tokens, reported_output_tokens
--
-- Programs sum up for themselves, some of them instead of telling what each call used. The two stand side
-- by side and are never mixed.
-- Reported input holds what was read from the cache, and reported output the reasoning.
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' is all
--   session_id  String  id    = ''              only this session; '' is all
--   days        UInt32  days  = 0   [0..36500]  recorded in the last days before the newest fact; 0 is all
-- Columns:
--   tenant                   id        the tenant
--   session_id               id        the session
--   calls                    count     model calls that are recorded
--   reported_calls           count     as the program says; NULL if it does not
--   input_tokens             tokens    input of the recorded calls, of all kinds; NULL if no call tells
--   reported_input_tokens    tokens    as the program says
--   cached_input_tokens      tokens    of it read from the cache
--   reported_cached_tokens   tokens    as the program says
--   output_tokens            tokens    output of the recorded calls, reasoning included
--   reported_output_tokens   tokens    as the program says
--   reasoning_tokens         tokens    of it reasoning
--   reported_reasoning       tokens    as the program says
--   total_tokens             tokens    input and output of the recorded calls
--   reported_total_tokens    tokens    as the program says
--   cost                     currency  of the recorded calls, as far as known
--   reported_cost            currency  as the program says
--   model_context_window     tokens    of the model, as the program says last
SELECT
    tenant, session_id, calls, if(JSONHas(said, 'calls'), JSONExtractInt(said, 'calls'), NULL) AS reported_calls,
    input_tokens,
    if(JSONHas(said, 'input_tokens'), JSONExtractInt(said, 'input_tokens'), NULL) AS reported_input_tokens,
    cached_input_tokens,
    if(
        JSONHas(said, 'cached_input_tokens'), JSONExtractInt(said, 'cached_input_tokens'), NULL
    ) AS reported_cached_tokens,
    output_tokens,
    if(JSONHas(said, 'output_tokens'), JSONExtractInt(said, 'output_tokens'), NULL) AS reported_output_tokens,
    reasoning_tokens,
    if(JSONHas(said, 'reasoning_tokens'), JSONExtractInt(said, 'reasoning_tokens'), NULL) AS reported_reasoning,
    input_tokens + output_tokens AS total_tokens,
    if(JSONHas(said, 'total_tokens'), JSONExtractInt(said, 'total_tokens'), NULL) AS reported_total_tokens,
    cost, if(JSONHas(said, 'cost'), JSONExtractFloat(said, 'cost'), NULL) AS reported_cost,
    nullIf(window, 0) AS model_context_window
FROM
(
    SELECT
        tenant, session_id, count() AS calls, sum(window_tokens) AS input_tokens,
        sum(cache_read) AS cached_input_tokens, sum(output + ifNull(reasoning, 0)) AS output_tokens,
        sum(reasoning) AS reasoning_tokens, sum(cost) AS cost,
        argMaxIf(
            JSONExtractRaw(metadata, 'reported_totals'), thread_order, JSONHas(metadata, 'reported_totals')) AS said,
        argMaxIf(
            JSONExtractInt(provider_usage, 'model_context_window'), thread_order,
            JSONHas(provider_usage, 'model_context_window')) AS window
    FROM model_calls
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
    GROUP BY tenant, session_id
)
ORDER BY tenant, session_id
