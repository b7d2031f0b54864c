-- What did each call of a session find in the cache, why not more, and what would it have found without the break?
-- Section: What did the cache cost?
-- First: number, call_id, cause, window_tokens, window_expected, recomputed_expected, recomputed_billed, lost_tokens
--
-- In the order of the calls. Billed and expected numbers stand side by side and are never mixed.
--
-- Parameters:
--   tenant      String  id    = ''                   only this tenant; '' is all
--   session_id  String  id    required               the session
--   turn_id     String  id    = ''                   only this turn; '' is all
--   limit       UInt32  rows  = 10000   [1..100000]  most rows to return
-- Columns:
--   lineage_id           id        calls that share a cache
--   number               count     place in the lineage; 1 is first
--   turn_id              id        the turn
--   call_id              id        the model call
--   event_time           time      when
--   model                text      the model
--   cause                text      why something had to be computed again; first for the first call, append for a
--       window that only grew
--   gap_seconds          seconds   since the call before; NULL for the first
--   window_expected      tokens    the window, by our estimate; NULL without an assembly
--   prefix_tokens        tokens    longest common prefix with the window before; NULL without both assemblies
--   recomputed_expected  tokens    window_expected − prefix_tokens
--   new_tokens           tokens    of those, new: what would be recomputed without the break
--   penalty_tokens       tokens    recomputed_expected − new_tokens
--   lost_expected        tokens    the window before − prefix_tokens
--   window_tokens        tokens    the window as billed; NULL if not billed
--   cache_read           tokens    read from the cache, billed
--   recomputed_billed    tokens    window_tokens − cache_read
--   lost_tokens          tokens    left in the cache by the call before and not read
--   unbroken_billed      tokens    recomputed_billed without the break, as far as the bill tells
--   recorded_cost        currency  as the runtime says; NULL if it does not
--   recorded_currency    text      its currency
--   priced_cost          currency  by the price list; NULL without a price
--   priced_currency      text      its currency
--   break_cost           currency  of that, for computing lost tokens again
--   unbroken_cost        currency  priced_cost without it
SELECT
    lineage_id, number, turn_id, call_id, event_time, model, cause, gap_seconds, window_expected, prefix_tokens,
    recomputed_expected, new_tokens, penalty_tokens, lost_expected, window_tokens, cache_read, recomputed_billed,
    lost_tokens, unbroken_billed, cost AS recorded_cost,
    currency AS recorded_currency, priced_cost, priced_currency, break_cost, unbroken_cost
FROM cache_bill
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND session_id = {session_id:String}
    AND ({turn_id:String} = '' OR turn_id = {turn_id:String})
ORDER BY thread_order, stream_seq
LIMIT {limit:UInt32}
