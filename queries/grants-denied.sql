-- Which grants were denied or narrowed, and by which rule?
-- Section: What was withheld, granted or missing?
-- First: run_id, outcome, code, requested, effective, refused, reason
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' is all
--   session_id  String  id    = ''                only this session; '' is all
--   days        UInt32  days  = 0    [0..36500]   recorded in the last days before the newest fact; 0 is all
--   limit       UInt32  rows  = 100  [1..100000]  most rows to return
-- Columns:
--   tenant         id    the tenant
--   session_id     id    the session
--   run_id         id    the run that asked
--   parent_run_id  id    its parent
--   event_time     time  when
--   outcome        text  denied or narrowed
--   issuer         id    who decided
--   rule           text  the rule that decided
--   code           text  code of a denial
--   held           text  what the issuer holds
--   requested      text  what was asked for
--   inherits       bool  true when nothing was asked for and all is inherited
--   effective      text  what was given
--   refused        text  asked for and not given
--   reason         text  for people
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
