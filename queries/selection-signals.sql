-- Which ranking signals tell selected candidates from omitted ones?
-- Section: What was chosen, what left out?
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' is all
--   session_id  String  id    = ''              only this session; '' is all
--   days        UInt32  days  = 0   [0..36500]  recorded in the last days before the newest fact; 0 is all
-- Columns:
--   tenant         id     the tenant
--   signal         text   the ranking signal
--   candidates     count  candidates that have it
--   selected       count  those that were selected
--   acceptance     ratio  selected / candidates
--   mean_selected  score  mean value among the selected
--   mean_omitted   score  mean value among the omitted
--   difference     score  of the two means; large means that the signal decides
SELECT
    tenant, signal, count() AS candidates, countIf(outcome = 'selected') AS selected,
    selected / candidates AS acceptance, if(selected = 0, NULL, avgIf(value, outcome = 'selected')) AS mean_selected,
    if(selected = candidates, NULL, avgIf(value, outcome = 'omitted')) AS mean_omitted,
    mean_selected - mean_omitted AS difference
FROM turn_candidates
ARRAY JOIN mapKeys(signals) AS signal, mapValues(signals) AS value
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
GROUP BY tenant, signal
ORDER BY abs(difference) DESC NULLS LAST, tenant, signal
