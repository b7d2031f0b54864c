-- What was redacted, under which policy and for which reason?
-- Section: What was withheld, granted or missing?
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' means all tenants
--   session_id  String  id    = ''              only this session; '' means all sessions
--   days        UInt32  days  = 0   [0..36500]  only facts of this many days before the newest fact; 0 means all
-- Columns:
--   tenant           id     the tenant
--   policy_ref       id     the policy; a redaction under two policies counts under each
--   reason           text   the reason
--   redaction_state  text   degree to which content is withheld
--   method           text   method of the redaction
--   redactions       count  number of redactions
--   targets          count  distinct targets
--   sessions         count  distinct sessions
--   first_at         time   time of the first redaction
--   last_at          time   time of the last redaction
SELECT
    tenant, policy_ref, reason, redaction_state, method, countIf(part = 1) AS redactions,
    uniqExact(target_ref) AS targets, uniqExact(session_id) AS sessions,
    min(event_time) AS first_at, max(event_time) AS last_at
FROM redaction_trail
ARRAY JOIN policy_refs AS policy_ref
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
GROUP BY tenant, policy_ref, reason, redaction_state, method
ORDER BY redactions DESC, tenant, policy_ref, reason, redaction_state, method
