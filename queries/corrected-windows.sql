-- How large would each window be if the estimate were corrected by the bills of neighbouring calls?
-- Section: What did the model see?
-- First: call_id, billed_tokens, estimated_tokens, estimate_error, corrected_tokens, corrected_error, model
--
-- A corrected figure is the bill of a neighbour and the scaled difference of the two estimates. The call's own
-- bill enters only the scale, as one of all. Stored estimates are never rescaled. Rows are in the order of the calls.
--
-- Parameters:
--   tenant      String  id    = ''                  only this tenant; '' means all tenants
--   session_id  String  id    required              the session
--   turn_id     String  id    = ''                  only this turn; '' means all turns
--   call_id     String  id    = ''                  only this call; '' means all calls
--   limit       UInt32  rows  = 20000  [1..100000]  maximum number of rows
-- Columns:
--   tenant             id      the tenant
--   session_id         id      the session
--   thread_id          id      the thread
--   turn_id            id      the turn
--   call_id            id      the model call
--   event_time         time    time of the call
--   model              text    the model
--   estimator          text    the estimator of the estimate; '' if not known
--   billed_tokens      tokens  window that the provider billed
--   estimated_tokens   tokens  window as estimated
--   estimate_error     ratio   (estimated_tokens − billed_tokens) / billed_tokens
--   corrected_tokens   tokens  corrected estimate: bill of the neighbour + scale × (estimate − estimate of the
--       neighbour); NULL without a neighbour
--   corrected_error    ratio   (corrected_tokens − billed_tokens) / billed_tokens
--   scale              ratio   billed tokens for each estimated token by which windows of the session grew
--   neighbour_call_id  id      the call before in its thread, or the next one; '' for none
SELECT
    tenant, session_id, thread_id, turn_id, call_id, event_time, model, estimator, billed_tokens, estimated_tokens,
    estimate_error, toInt64(round(corrected_tokens)) AS corrected_tokens, corrected_error, scale, neighbour_call_id
FROM corrected_windows
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND session_id = {session_id:String}
    AND ({turn_id:String} = '' OR turn_id = {turn_id:String})
    AND ({call_id:String} = '' OR call_id = {call_id:String})
ORDER BY thread_order, call_id
LIMIT {limit:UInt32}
