-- What was erased, when and why?
-- Section: What was withheld, granted or missing?
-- First: erasure_id, erased_at, reason, records, sessions
--
-- A row is an erasure. Its facts say which records it took, and never what they held.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' means all tenants
--   session_id  String  id    = ''                only erasures of records of this session; '' means all
--   limit       UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant        id     the tenant
--   erasure_id    id     the erasure
--   erased_at     time   time of the erasure
--   reason        text   reason of the erasure
--   policy_refs   id     policies that it follows
--   records       count  erased records
--   sessions      count  sessions of these records
--   first_leaf    id     leaf of one of the records in the log, which stays
SELECT
    tenant, erasure_id, min(event_time) AS erased_at, any(r.reason) AS reason,
    arraySort(groupUniqArrayArray(r.policy_refs)) AS policy_refs, uniqExact(erased_stream, erased_seq) AS records,
    uniqExactIf(erased_session_id, erased_session_id != '') AS sessions,
    argMin(leaf, erased_seq) AS first_leaf
FROM erased_records AS r
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR erased_session_id = {session_id:String})
GROUP BY tenant, erasure_id
ORDER BY erased_at DESC, tenant, erasure_id
LIMIT {limit:UInt32}
