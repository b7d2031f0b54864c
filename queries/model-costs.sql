-- What did the calls of each model cost, as recorded and by the price list?
-- Section: What was used?
--
-- The two are never mixed. A call with a bucket that has no price counts as unpriced and adds nothing.
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' is all
--   session_id  String  id    = ''              only this session; '' is all
--   days        UInt32  days  = 0   [0..36500]  recorded in the last days before the newest fact; 0 is all
-- Columns:
--   tenant             id        the tenant
--   model              text      the model
--   calls              count     model calls
--   recorded_calls     count     calls whose cost the runtime recorded
--   recorded_cost      currency  sum of these; NULL if there are none, or in several currencies
--   recorded_currency  text      their currency
--   unpriced_calls     count     calls that the price list has no price for
--   priced_cost        currency  sum of the others by the price list; NULL if there are none
--   priced_currency    text      the price list's currency
--   input_cost         currency  of priced_cost, uncached input
--   cache_read_cost    currency  of priced_cost, cache reads
--   cache_write_cost   currency  of priced_cost, cache writes
--   output_cost        currency  of priced_cost, output and reasoning
--   unpriced_buckets   text      buckets that were used and lack a price
SELECT
    tenant, model, count() AS calls, countIf(c.cost IS NOT NULL) AS recorded_calls,
    if(uniqExactIf(currency, currency != '') > 1, NULL, sum(c.cost)) AS recorded_cost,
    arrayStringConcat(arraySort(groupUniqArrayIf(toString(currency), currency != '')), ', ') AS recorded_currency,
    countIf(c.priced_cost IS NULL) AS unpriced_calls, sum(c.priced_cost) AS priced_cost, priced_currency,
    sumIf(c.input_cost, c.priced_cost IS NOT NULL) AS input_cost,
    sumIf(c.cache_read_cost, c.priced_cost IS NOT NULL) AS cache_read_cost,
    sumIf(c.cache_write_cost, c.priced_cost IS NOT NULL) AS cache_write_cost,
    sumIf(c.output_cost, c.priced_cost IS NOT NULL) AS output_cost,
    arraySort(groupUniqArrayArray(c.unpriced_buckets)) AS unpriced_buckets
FROM call_costs AS c
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
    AND NOT synthetic
GROUP BY tenant, model, priced_currency
ORDER BY priced_cost DESC NULLS LAST, calls DESC, tenant, model
