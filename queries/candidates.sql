-- Which candidates did a turn consider, which were chosen, and why were the others left out?
-- Section: What was chosen, and what was left out?
-- First: item_ref, outcome, reason, rank, score, tokens, turn_id, call_id
--
-- Parameters:
--   tenant      String  id    = ''                   only this tenant; '' means all tenants
--   session_id  String  id    required               the session
--   turn_id     String  id    = ''                   only this turn; '' means all turns
--   limit       UInt32  rows  = 1000    [1..100000]  maximum number of rows
-- Columns:
--   turn_id       id      the turn
--   call_id       id      the model call
--   selection_id  id      the selection
--   item_ref      id      the candidate
--   outcome       text    selected or omitted
--   rank          count   rank of the candidate, 1 is best; NULL if not given
--   score         score   score of the candidate; NULL if not given
--   tokens        tokens  tokens of the candidate; NULL if not known
--   reason        text    reason of the omission
--   note          text    note of the producer
--   policy        text    the selection policy
SELECT turn_id, call_id, selection_id, item_ref, outcome, rank, score, tokens, reason, note, policy
FROM turn_candidates
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND session_id = {session_id:String}
    AND ({turn_id:String} = '' OR turn_id = {turn_id:String})
ORDER BY thread_order, outcome DESC, rank NULLS LAST, item_ref
LIMIT {limit:UInt32}
