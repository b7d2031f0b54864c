-- What did each model cost in tokens, and how much came from its cache?
-- Section: What was used?
--
-- The recorded cost and the cost by the price list are never mixed.
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' means all tenants
--   session_id  String  id    = ''              only this session; '' means all sessions
--   run_id      String  id    = ''              only this run; '' means all runs
--   task_id     String  id    = ''              only this task; '' means all tasks
--   attempt_id  String  id    = ''              only this attempt; '' means all attempts
--   tag         String  text  = ''              only calls with this tag, or in a turn or run with it; '' means all
--       calls
--   days        UInt32  days  = 0   [0..36500]  only facts of this many days before the newest fact; 0 means all
-- Columns:
--   tenant             id        the tenant
--   model              text      the model
--   calls              count     model calls
--   uncached_input     tokens    input outside the cache
--   cache_written      tokens    input written to the cache
--   cache_read         tokens    input read from the cache
--   output             tokens    output without reasoning
--   reasoning          tokens    reasoning, as far as reported
--   cache_read_share   ratio     cache read / all input
--   cost               currency  sum of the known costs; NULL if no cost is known
--   priced_cost        currency  sum of the priced calls by the price list; NULL if no call has a price, or in
--       several currencies
--   priced_currencies  text      currencies of priced_cost
--   unpriced_calls     count     calls without a price in the price list
--   price_sources      text      sources of the prices in at_least_cost
--   largest_window     tokens    largest billed window
--   max_input_tokens   tokens    limit of the model's input; NULL if not known
--   at_least_cost      currency  priced_cost and what is known of the other calls; NULL if nothing is known, or in
--       several currencies
--   partial_calls      count     calls with a count that is not known, or a placeholder and not final
--   cost_complete      bool      whether at_least_cost lacks nothing; otherwise it is a lower bound
--   all_input_tokens   tokens    sum of the three kinds of input
SELECT
    tenant, model, count() AS calls, sum(m.uncached_input) AS uncached_input, sum(m.cache_written) AS cache_written,
    sum(m.cache_read) AS cache_read, sum(m.output) AS output, sum(m.reasoning) AS reasoning,
    sum(m.cache_read) / nullIf(all_input_tokens, 0) AS cache_read_share, sum(m.cost) AS cost,
    if(length(priced_currencies) > 1, NULL, sumIf(m.priced_cost, m.priced_currency != '')) AS priced_cost,
    arraySort(groupUniqArrayIf(m.priced_currency, m.priced_currency != '')) AS priced_currencies,
    countIf(m.cost_lacks = 'price') AS unpriced_calls,
    arraySort(groupUniqArrayIf(m.price_source, m.at_least_cost IS NOT NULL AND m.price_source != '')) AS price_sources,
    max(m.window_tokens) AS largest_window, any(l.max_input_tokens) AS max_input_tokens,
    if(length(priced_currencies) > 1, NULL, sumIf(m.at_least_cost, m.priced_currency != '')) AS at_least_cost,
    countIf(m.cost_lacks = 'count') AS partial_calls, toBool(unpriced_calls = 0 AND partial_calls = 0) AS cost_complete,
    sum(m.window_tokens) AS all_input_tokens
FROM call_costs AS m
LEFT JOIN model_limits AS l ON l.model = toString(m.model)
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({run_id:String} = '' OR run_id = {run_id:String})
    AND ({task_id:String} = '' OR task_id = {task_id:String})
    AND ({attempt_id:String} = '' OR attempt_id = {attempt_id:String})
    AND (
        {tag:String} = '' OR has(tags, {tag:String})
        OR (tenant, session_id, run_id) IN (
            SELECT tenant, session_id, record_id
            FROM scope_records
            WHERE record_kind = 'run' AND (has(tags, {tag:String}) OR has(inherited_tags, {tag:String})))
        OR (tenant, session_id, turn_id) IN (
            SELECT tenant, session_id, turn_id
            FROM scope_records
            WHERE record_kind = 'envelope' AND has(tags, {tag:String})))
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
GROUP BY tenant, model
ORDER BY calls DESC, tenant, model
