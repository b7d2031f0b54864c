-- Which ranking signals separate selected candidates from omitted candidates?
-- Section: What was chosen, and what was left out?
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' means all tenants
--   session_id  String  id    = ''              only this session; '' means all sessions
--   days        UInt32  days  = 0   [0..36500]  only facts of this many days before the newest fact; 0 means all
-- Columns:
--   tenant         id     the tenant
--   signal         text   the ranking signal
--   candidates     count  candidates with the signal
--   selected       count  selected candidates with the signal
--   acceptance     ratio  selected / candidates
--   mean_selected  score  mean value of the selected candidates
--   mean_omitted   score  mean value of the omitted candidates
--   difference     score  difference of the two means; a large value means that the signal decides
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
