-- How many model calls did each session make, and what was billed for them?
-- Section: What was used?
-- First: session_id, all_input_tokens, cache_read_tokens, all_output_tokens, api_call_count
--
-- A total is NULL if the provider reported the bucket for no call. The recorded cost and the cost by the
-- price list are never mixed. Output of a log that has only a placeholder for it is below what was billed.
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
--   priced_cost            currency  sum of the priced calls by the price list; NULL if no call has a price, or in
--       several currencies
--   priced_currencies      text      currencies of priced_cost
--   unpriced_calls         count     calls without a price in the price list
--   price_sources          text      sources of the prices in at_least_cost
--   at_least_cost          currency  priced_cost and what is known of the other calls; NULL if nothing is known, or
--       in several currencies
--   partial_calls          count     calls with a count that is not known, or a placeholder and not final
--   cost_complete          bool      whether at_least_cost lacks nothing; otherwise it is a lower bound
SELECT
    tenant, session_id, count() AS api_call_count, sum(uncached_input) AS input_tokens,
    sum(cache_written) AS cache_creation_tokens, sum(cache_read) AS cache_read_tokens, sum(output) AS output_tokens,
    sum(cost) AS cost, arraySort(groupUniqArrayIf(currency, currency != '')) AS currencies,
    sum(reasoning) AS reasoning_tokens, sum(window_tokens) AS all_input_tokens,
    sum(output + ifNull(reasoning, 0)) AS all_output_tokens,
    if(length(priced_currencies) > 1, NULL, sumIf(c.priced_cost, c.priced_currency != '')) AS priced_cost,
    arraySort(groupUniqArrayIf(c.priced_currency, c.priced_currency != '')) AS priced_currencies,
    countIf(c.cost_lacks = 'price') AS unpriced_calls,
    arraySort(groupUniqArrayIf(c.price_source, c.at_least_cost IS NOT NULL AND c.price_source != '')) AS price_sources,
    if(length(priced_currencies) > 1, NULL, sumIf(c.at_least_cost, c.priced_currency != '')) AS at_least_cost,
    countIf(c.cost_lacks = 'count') AS partial_calls, toBool(unpriced_calls = 0 AND partial_calls = 0) AS cost_complete
FROM call_costs AS c
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
GROUP BY tenant, session_id
ORDER BY tenant, session_id
