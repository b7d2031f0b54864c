-- What did each call of a session read from the cache, and what broke the cache?
-- Section: What did the cache cost?
-- First: number, call_id, cause, window_tokens, window_expected, recomputed_expected, recomputed_billed, lost_tokens
--
-- Rows are in the order of the calls. Billed and expected numbers are in separate columns and are never
-- mixed.
--
-- Parameters:
--   tenant      String  id    = ''                   only this tenant; '' means all tenants
--   session_id  String  id    required               the session
--   turn_id     String  id    = ''                   only this turn; '' means all turns
--   limit       UInt32  rows  = 10000   [1..100000]  maximum number of rows
-- Columns:
--   lineage_id           id        id of the calls that share a cache
--   number               count     place in the lineage; 1 is first
--   turn_id              id        the turn
--   call_id              id        the model call
--   event_time           time      time of the call
--   model                text      the model
--   cause                text      cause of the recomputation; first for the first call, append for a window that
--       only grew
--   gap_seconds          seconds   seconds since the previous call; NULL for the first
--   window_expected      tokens    estimated tokens of the window; NULL without an assembly
--   prefix_tokens        tokens    longest common prefix with the previous window; NULL without both assemblies
--   recomputed_expected  tokens    window_expected − prefix_tokens
--   new_tokens           tokens    new tokens in recomputed_expected, which a call without a break also recomputes
--   penalty_tokens       tokens    recomputed_expected − new_tokens
--   lost_expected        tokens    tokens of the previous window − prefix_tokens
--   window_tokens        tokens    billed tokens of the window; NULL if not billed
--   cache_read           tokens    billed tokens read from the cache
--   recomputed_billed    tokens    window_tokens − cache_read
--   lost_tokens          tokens    tokens that the previous call left in the cache and this call did not read
--   unbroken_billed      tokens    recomputed_billed without the break, as far as the bill shows
--   recorded_cost        currency  cost that the runtime recorded; NULL if not recorded
--   recorded_currency    text      currency of recorded_cost
--   priced_cost          currency  cost by the price list; NULL without a price
--   priced_currency      text      currency of priced_cost
--   break_cost           currency  share of priced_cost for recomputing lost tokens
--   unbroken_cost        currency  priced_cost − break_cost
--   at_least_cost        currency  priced_cost, or what the buckets with a final count cost; NULL if not known
--   cost_lacks           text      what priced_cost lacks: price, count (not known or not final), or nothing
SELECT
    lineage_id, number, turn_id, call_id, event_time, model, cause, gap_seconds, window_expected, prefix_tokens,
    recomputed_expected, new_tokens, penalty_tokens, lost_expected, window_tokens, cache_read, recomputed_billed,
    lost_tokens, unbroken_billed, cost AS recorded_cost,
    currency AS recorded_currency, priced_cost, priced_currency, break_cost, unbroken_cost, at_least_cost,
    cost_lacks
FROM cache_bill
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND session_id = {session_id:String}
    AND ({turn_id:String} = '' OR turn_id = {turn_id:String})
ORDER BY thread_order, stream_seq
LIMIT {limit:UInt32}
