SELECT
    count() AS calls, countIf(cost_lacks = 'price') AS unpriced, countIf(cost_lacks = 'count') AS partial,
    ifNull(sum(at_least_cost), 0) AS cost,
    arraySort(groupUniqArrayIf(priced_currency, at_least_cost IS NOT NULL AND priced_currency != '')) AS currencies,
    arraySort(groupUniqArrayIf(price_source, at_least_cost IS NOT NULL AND priced_currency != '')) AS sources
FROM call_costs
WHERE tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))
    AND session_id IN {sessions:Array(String)}
    AND NOT synthetic
