SELECT
    count() AS calls, countIf(priced_cost IS NULL) AS unpriced, ifNull(sum(priced_cost), 0) AS cost,
    arraySort(groupUniqArrayIf(priced_currency, priced_cost IS NOT NULL AND priced_currency != '')) AS currencies,
    arraySort(groupUniqArrayIf(price_source, priced_cost IS NOT NULL AND priced_currency != '')) AS sources
FROM call_costs
WHERE tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND session_id IN {sessions:Array(String)}
    AND NOT synthetic
