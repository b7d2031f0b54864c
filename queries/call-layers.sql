-- Which layers filled the window of each call of a session?
-- Section: What did the model see?
-- First: turn_id, call_id, layer, tokens, items
--
-- Parameters:
--   tenant      String  id    = ''                   only this tenant; '' means all tenants
--   session_id  String  id    required               the session
--   turn_id     String  id    = ''                   only this turn; '' means all turns
--   limit       UInt32  rows  = 10000   [1..100000]  maximum number of rows
-- Columns:
--   thread_id   id      the thread
--   turn_id     id      the turn
--   call_id     id      the model call
--   event_time  time    time at which the call was recorded
--   model       text    the model
--   layer       text    the layer
--   items       count   items in the layer
--   tokens      tokens  estimated tokens of the layer; NULL if not known
--   changed     bool    whether the layer changed since the last call of the lineage; NULL if not known
--   estimator   text    the estimator of the tokens
SELECT thread_id, turn_id, call_id, event_time, model, layer, items, tokens, changed, estimator
FROM layer_usage
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND session_id = {session_id:String}
    AND ({turn_id:String} = '' OR turn_id = {turn_id:String})
ORDER BY thread_id, thread_order, layer_order
LIMIT {limit:UInt32}
