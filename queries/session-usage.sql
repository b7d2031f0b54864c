-- How many model calls did each session make, and what was billed for them?
-- Section: What was used?
-- First: session_id, all_input_tokens, cache_read_tokens, all_output_tokens, api_call_count
--
-- A total is NULL if the provider reported the bucket for no call.
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' means all tenants
--   session_id  String  id    = ''              only this session; '' means all sessions
--   days        UInt32  days  = 0   [0..36500]  only facts of this many days before the newest fact; 0 means all
-- Columns:
--   tenant                 id        the tenant
--   session_id             id        the session
--   api_call_count         count     model calls, each counted once
--   input_tokens           tokens    input outside the cache
--   cache_creation_tokens  tokens    input written to the cache
--   cache_read_tokens      tokens    input read from the cache
--   output_tokens          tokens    output without reasoning
--   cost                   currency  sum of the known costs; NULL if no cost is known
--   currencies             text      currencies of the costs
--   reasoning_tokens       tokens    reasoning, if the provider reports it; output_tokens excludes it
--   all_input_tokens       tokens    sum of the three kinds of input
--   all_output_tokens      tokens    output and reasoning
SELECT
    tenant, session_id, count() AS api_call_count, sum(uncached_input) AS input_tokens,
    sum(cache_written) AS cache_creation_tokens, sum(cache_read) AS cache_read_tokens, sum(output) AS output_tokens,
    sum(cost) AS cost, arraySort(groupUniqArrayIf(currency, currency != '')) AS currencies,
    sum(reasoning) AS reasoning_tokens, sum(window_tokens) AS all_input_tokens,
    sum(output + ifNull(reasoning, 0)) AS all_output_tokens
FROM model_calls
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
GROUP BY tenant, session_id
ORDER BY tenant, session_id
