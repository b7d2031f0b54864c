-- Which resources were used, and what was refused?
-- Section: What was withheld, granted or missing?
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' is all
--   session_id  String  id    = ''              only this session; '' is all
--   days        UInt32  days  = 0   [0..36500]  recorded in the last days before the newest fact; 0 is all
-- Columns:
--   tenant         id     the tenant
--   resource_name  text   the resource
--   operation      text   what was tried
--   allowed        bool   whether it was allowed
--   accesses       count  how often
--   runs           count  by how many runs
--   paths          text   up to ten of the paths
--   last_at        time   the last
SELECT
    tenant, resource_name, operation, allowed, count() AS accesses, uniqExact(run_id) AS runs,
    arraySort(groupUniqArray(10)(path)) AS paths, max(event_time) AS last_at
FROM scope_records
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
    AND record_kind = 'resource_accessed'
GROUP BY tenant, resource_name, operation, allowed
ORDER BY allowed, accesses DESC, tenant, resource_name, operation
