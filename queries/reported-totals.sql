-- Which totals did the program of a session report, and what is the sum of its calls?
-- Section: What was used?
-- First: session_id, calls, input_tokens, reported_input_tokens, output_tokens, reported_output_tokens
--
-- Some programs report only their own totals and not the usage of each call. Reported and recorded totals
-- are in separate columns and are never mixed. Reported input includes the tokens read from the cache.
-- Reported output includes the reasoning.
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' means all tenants
--   session_id  String  id    = ''              only this session; '' means all sessions
--   days        UInt32  days  = 0   [0..36500]  only facts of this many days before the newest fact; 0 means all
-- Columns:
--   tenant                   id        the tenant
--   session_id               id        the session
--   calls                    count     recorded model calls
--   reported_calls           count     calls that the program reports; NULL if not reported
--   input_tokens             tokens    input of the recorded calls, of all kinds; NULL if unknown
--   reported_input_tokens    tokens    input that the program reports
--   cached_input_tokens      tokens    input of the recorded calls that was read from the cache
--   reported_cached_tokens   tokens    cached input that the program reports
--   output_tokens            tokens    output of the recorded calls, reasoning included
--   reported_output_tokens   tokens    output that the program reports
--   reasoning_tokens         tokens    reasoning of the recorded calls
--   reported_reasoning       tokens    reasoning that the program reports
--   total_tokens             tokens    input and output of the recorded calls
--   reported_total_tokens    tokens    input and output that the program reports
--   cost                     currency  cost of the recorded calls, as far as known
--   reported_cost            currency  cost that the program reports
--   model_context_window     tokens    window of the model, as the program last reported
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
