-- What was redacted, under which policy and for which reason?
-- Section: What was withheld, granted or missing?
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' is all
--   session_id  String  id    = ''              only this session; '' is all
--   days        UInt32  days  = 0   [0..36500]  recorded in the last days before the newest fact; 0 is all
-- Columns:
--   tenant           id     the tenant
--   policy_ref       id     the policy; a redaction under two counts under each
--   reason           text   why
--   redaction_state  text   how much is withheld
--   method           text   how
--   redactions       count  redactions
--   targets          count  distinct targets
--   sessions         count  sessions
--   first_at         time   the first
--   last_at          time   the last
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
