-- Which items were redacted in a session, and when?
-- Section: What was withheld, granted or missing?
--
-- Parameters:
--   tenant      String  id    = ''                   only this tenant; '' is all
--   session_id  String  id    required               the session
--   limit       UInt32  rows  = 1000    [1..100000]  most rows to return
-- Columns:
--   event_time       time  when
--   turn_id          id    the turn
--   call_id          id    the model call
--   redaction_id     id    the redaction
--   target_ref       id    what was redacted
--   redaction_state  text  how much is withheld
--   redacted_fields  text  which parts
--   reason           text  why
--   policy_refs      id    under which policies
--   actor            id    who
--   replacement_ref  id    what stands for it
SELECT
    event_time, turn_id, call_id, redaction_id, target_ref, redaction_state, redacted_fields, reason, policy_refs,
    actor, replacement_ref
FROM redaction_trail
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND session_id = {session_id:String}
    AND part = 1
ORDER BY thread_order, redaction_id
LIMIT {limit:UInt32}
