-- Which items were redacted in a session, and when?
-- Section: What was withheld, granted or missing?
--
-- Parameters:
--   tenant      String  id    = ''                   only this tenant; '' means all tenants
--   session_id  String  id    required               the session
--   limit       UInt32  rows  = 1000    [1..100000]  maximum number of rows
-- Columns:
--   event_time       time  time of the redaction
--   turn_id          id    the turn
--   call_id          id    the model call
--   redaction_id     id    the redaction
--   target_ref       id    the redacted record
--   redaction_state  text  degree to which content is withheld
--   redacted_fields  text  the redacted parts
--   reason           text  the reason
--   policy_refs      id    policies of the redaction
--   actor            id    the actor that decided
--   replacement_ref  id    replacement for the content
SELECT
    event_time, turn_id, call_id, redaction_id, target_ref, redaction_state, redacted_fields, reason, policy_refs,
    actor, replacement_ref
FROM redaction_trail
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND session_id = {session_id:String}
    AND part = 1
ORDER BY thread_order, redaction_id
LIMIT {limit:UInt32}
