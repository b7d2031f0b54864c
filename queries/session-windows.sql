-- Which blocks did the model see in each call of a session?
-- Section: What did the model see?
-- First: call_id, position, layer, tokens, title
--
-- Rows are in the order of the calls, and then in the order of the window. The file that `ctxledger report`
-- writes is made from this query.
--
-- Parameters:
--   tenant      String  id    = ''                     only this tenant; '' means all tenants
--   session_id  String  id    required                 the session
--   limit       UInt32  rows  = 500000  [1..1000000]  maximum number of rows
-- Columns:
--   turn_id          id      the turn
--   attempt_id       id      the attempt; '' for none
--   call_id          id      the model call
--   target           text    who the window is for: the model or a tool; '' for the model of an imported log
--   position         count   place in the window; 0 is first
--   layer            text    the layer
--   role             text    the role of the message
--   title            text    title of the item
--   block            text    name of the block
--   name             text    name of the called function
--   item_refs        id      items of the block
--   tokens           tokens  tokens as the model saw the block; NULL if not known
--   tokens_full      tokens  tokens before the block was shortened; NULL if not known
--   elided           bool    whether a stub stands in for the item
--   redaction_state  text    degree to which content is withheld
SELECT
    turn_id, attempt_id, call_id, target, position, layer, role, title, block, name, item_refs, tokens, tokens_full,
    elided, redaction_state
FROM turn_window
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND session_id = {session_id:String}
ORDER BY thread_order, call_id, target, position
LIMIT {limit:UInt32}
