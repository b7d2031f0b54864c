-- What did the calls of each model cost, as recorded and by the price list?
-- Section: What was used?
--
-- The two costs are never mixed. A call counts as unpriced if one of its buckets has no price, and as partial
-- if one of its counts is not known, or a placeholder and not final. priced_cost has neither of them.
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' means all tenants
--   session_id  String  id    = ''              only this session; '' means all sessions
--   days        UInt32  days  = 0   [0..36500]  only facts of this many days before the newest fact; 0 means all
-- Columns:
--   tenant             id        the tenant
--   model              text      the model
--   calls              count     model calls
--   recorded_calls     count     calls whose cost the runtime recorded
--   recorded_cost      currency  sum of the recorded costs; NULL if no cost is recorded, or in several currencies
--   recorded_currency  text      currency of recorded_cost
--   unpriced_calls     count     calls without a price in the price list
--   priced_cost        currency  sum of the priced calls by the price list; NULL if no call has a price
--   priced_currency    text      currency of priced_cost
--   input_cost         currency  share of uncached input in priced_cost
--   cache_read_cost    currency  share of cache reads in priced_cost
--   cache_write_cost   currency  share of cache writes in priced_cost
--   output_cost        currency  share of output and reasoning in priced_cost
--   unpriced_buckets   text      buckets without a price that were used
--   at_least_cost      currency  priced_cost and what is known of the other calls; NULL if nothing is known
--   partial_calls      count     calls with a count that is not known, or a placeholder and not final
SELECT
    tenant, model, count() AS calls, countIf(c.cost IS NOT NULL) AS recorded_calls,
    if(uniqExactIf(currency, currency != '') > 1, NULL, sum(c.cost)) AS recorded_cost,
    arrayStringConcat(arraySort(groupUniqArrayIf(toString(currency), currency != '')), ', ') AS recorded_currency,
    countIf(c.cost_lacks = 'price') AS unpriced_calls, sum(c.priced_cost) AS priced_cost, priced_currency,
    sumIf(c.input_cost, c.priced_cost IS NOT NULL) AS input_cost,
    sumIf(c.cache_read_cost, c.priced_cost IS NOT NULL) AS cache_read_cost,
    sumIf(c.cache_write_cost, c.priced_cost IS NOT NULL) AS cache_write_cost,
    sumIf(c.output_cost, c.priced_cost IS NOT NULL) AS output_cost,
    arraySort(groupUniqArrayArray(c.unpriced_buckets)) AS unpriced_buckets, sum(c.at_least_cost) AS at_least_cost,
    countIf(c.cost_lacks = 'count') AS partial_calls
FROM call_costs AS c
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
    AND NOT synthetic
GROUP BY tenant, model, priced_currency
ORDER BY at_least_cost DESC NULLS LAST, calls DESC, tenant, model
