-- Which resources were used, and which operations were refused?
-- Section: What was withheld, granted or missing?
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' means all tenants
--   session_id  String  id    = ''              only this session; '' means all sessions
--   days        UInt32  days  = 0   [0..36500]  only facts of this many days before the newest fact; 0 means all
-- Columns:
--   tenant         id     the tenant
--   resource_name  text   the resource
--   operation      text   the operation
--   allowed        bool   whether the operation was allowed
--   accesses       count  number of operations
--   runs           count  number of runs
--   paths          text   the first ten of the paths, sorted
--   last_at        time   time of the last operation
SELECT
    tenant, resource_name, operation, allowed, count() AS accesses, uniqExact(run_id) AS runs,
    arraySlice(arraySort(groupUniqArray(path)), 1, 10) AS paths, max(event_time) AS last_at
FROM scope_records
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
    AND record_kind = 'resource_accessed'
GROUP BY tenant, resource_name, operation, allowed
ORDER BY allowed, accesses DESC, tenant, resource_name, operation
