-- Which grants were denied or narrowed, and by which rule?
-- Section: What was withheld, granted or missing?
-- First: run_id, outcome, code, requested, effective, refused, reason
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' means all tenants
--   session_id  String  id    = ''                only this session; '' means all sessions
--   days        UInt32  days  = 0    [0..36500]   only facts of this many days before the newest fact; 0 means all
--   limit       UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant         id    the tenant
--   session_id     id    the session
--   run_id         id    the run that asked
--   parent_run_id  id    its parent
--   event_time     time  time of the decision
--   outcome        text  denied or narrowed
--   issuer         id    the issuer that decided
--   rule           text  the rule that decided
--   code           text  code of a denial
--   held           text  grants that the issuer holds
--   requested      text  grants that were requested
--   inherits       bool  true if no grants were requested and all are inherited
--   effective      text  grants that were given
--   refused        text  grants that were requested and not given
--   reason         text  reason, for people
SELECT
    tenant, session_id, run_id, parent_run_id, event_time, substring(record_kind, 7) AS outcome, issuer, rule, code,
    grants AS held, requested, toBool(NOT requested_given) AS inherits, effective,
    arrayFilter(r -> NOT has(effective, r), requested) AS refused, reason
FROM scope_records
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
    AND record_kind IN ('grant_denied', 'grant_narrowed')
    AND (record_kind = 'grant_denied' OR arraySort(grants) != arraySort(effective))
ORDER BY event_time DESC, tenant, session_id, stream_seq
LIMIT {limit:UInt32}
