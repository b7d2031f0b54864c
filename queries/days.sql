-- What did each day use and cost, or each session of a day?
-- Section: What was used?
-- First: day, session_id, sessions, calls, all_input_tokens, output_tokens, at_least_cost, cost_complete
--
-- A day is of the calls' times in UTC. Costs are by the price list.
--
-- Parameters:
--   tenant      String  id    = ''                 only this tenant; '' means all tenants
--   session_id  String  id    = ''                 only this session; '' means all sessions
--   by_session  UInt32  flag  = 0    [0..1]        1 means a row for each session of a day
--   days        UInt32  days  = 0    [0..36500]    only facts of this many days before the newest fact; 0 means all
--   limit       UInt32  rows  = 366  [1..100000]   maximum number of rows
-- Columns:
--   tenant                 id        the tenant
--   day                    text      the day in UTC, such as 2026-01-31; empty for logs without times
--   session_id             id        the session with by_session; otherwise ''
--   sessions               count     sessions with calls
--   calls                  count     model calls
--   input_tokens           tokens    input outside the cache
--   cache_creation_tokens  tokens    input written to the cache
--   cache_read_tokens      tokens    input read from the cache
--   all_input_tokens       tokens    sum of the three kinds of input
--   cache_read_share       ratio     cache_read_tokens / all_input_tokens
--   output_tokens          tokens    output and reasoning
--   priced_cost            currency  sum of the priced calls; NULL if no call has a price, or in several currencies
--   at_least_cost          currency  priced_cost and what is known of the other calls; NULL if nothing is known, or
--       in several currencies
--   priced_currencies      text      currencies of at_least_cost
--   price_sources          text      sources of the prices in at_least_cost
--   unpriced_calls         count     calls without a price in the price list
--   partial_calls          count     calls with a count that is not known, or a placeholder and not final
--   cost_complete          bool      whether at_least_cost lacks nothing; otherwise it is a lower bound
SELECT
    tenant, if(event_time < toDateTime64('1971-01-01', 9, 'UTC'), '', toString(toDate(event_time, 'UTC'))) AS day,
    if({by_session:UInt32} = 1, c.session_id, '') AS session_id,
    uniqExact(c.session_id) AS sessions, count() AS calls,
    sum(uncached_input) AS input_tokens, sum(cache_written) AS cache_creation_tokens,
    sum(cache_read) AS cache_read_tokens, sum(window_tokens) AS all_input_tokens,
    cache_read_tokens / nullIf(all_input_tokens, 0) AS cache_read_share,
    sum(output + ifNull(reasoning, 0)) AS output_tokens,
    if(length(priced_currencies) > 1, NULL, sumIf(c.priced_cost, c.priced_currency != '')) AS priced_cost,
    if(length(priced_currencies) > 1, NULL, sumIf(c.at_least_cost, c.priced_currency != '')) AS at_least_cost,
    arraySort(groupUniqArrayIf(c.priced_currency, c.priced_currency != '')) AS priced_currencies,
    arraySort(groupUniqArrayIf(c.price_source, c.at_least_cost IS NOT NULL AND c.price_source != '')) AS price_sources,
    countIf(c.cost_lacks = 'price') AS unpriced_calls, countIf(c.cost_lacks = 'count') AS partial_calls,
    toBool(unpriced_calls = 0 AND partial_calls = 0) AS cost_complete
FROM call_costs AS c
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR c.session_id = {session_id:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
    AND NOT synthetic
GROUP BY tenant, day, session_id
ORDER BY day DESC, at_least_cost DESC NULLS LAST, tenant, session_id
LIMIT {limit:UInt32}
