-- How did the window of a session grow from call to call, and what did the cache do?
-- Section: What did the model see?
-- First: call_id, event_time, window_tokens, window_expected, cache_read, cache_written, cause, lost_tokens
--
-- Rows are in the order of the calls of each thread. Billed and expected numbers are in separate columns and
-- are never mixed. The explorer draws a session from this query.
--
-- Parameters:
--   tenant      String  id    = ''                   only this tenant; '' means all tenants
--   session_id  String  id    required               the session
--   limit       UInt32  rows  = 20000   [1..100000]  maximum number of rows
-- Columns:
--   thread_id            id        the thread
--   lineage_id           id        id of the calls that share a cache
--   run_id               id        the run
--   parent_run_id        id        the run that started this run; '' for none
--   agent                text      the agent
--   turn_id              id        the turn
--   attempt_id           id        the attempt; '' for none
--   call_id              id        the model call
--   event_time           time      time of the call
--   model                text      the model
--   max_tokens           tokens    limit of the model's window by the call's budget, or else by the limits of
--       models; NULL if not known
--   window_tokens        tokens    billed tokens of the window; NULL if not billed
--   window_expected      tokens    estimated tokens of the window; NULL without an assembly
--   cache_read           tokens    billed tokens read from the cache
--   cache_written        tokens    billed tokens written to the cache
--   prefix_tokens        tokens    longest common prefix with the previous window; NULL without both assemblies
--   new_tokens           tokens    estimated tokens that the previous window did not have
--   penalty_tokens       tokens    estimated tokens that are computed again, without new_tokens
--   cause                text      cause of the recomputation; first for the first call, append for a window that
--       only grew
--   gap_seconds          seconds   seconds since the previous call; NULL for the first
--   lost_tokens          tokens    tokens that the previous call left in the cache and this call did not read
--   recorded_cost        currency  cost that the runtime recorded; NULL if not recorded
--   recorded_currency    text      currency of recorded_cost
--   priced_cost          currency  cost by the price list; NULL without a price
--   priced_currency      text      currency of priced_cost
--   at_least_cost        currency  priced_cost, or what the buckets with a final count cost; NULL if not known
--   cost_lacks           text      what priced_cost lacks: price, count (not known or not final), or nothing
WITH
limits AS
(
    SELECT attempt_id, call_id, max(max_tokens) AS max_tokens
    FROM budgets
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
        AND target IN ('', 'model')
    GROUP BY attempt_id, call_id
)
SELECT
    b.thread_id AS thread_id, b.lineage_id AS lineage_id, b.run_id AS run_id, b.parent_run_id AS parent_run_id,
    toString(b.agent) AS agent, b.turn_id AS turn_id, b.attempt_id AS attempt_id, b.call_id AS call_id,
    b.event_time AS event_time, b.model AS model, coalesce(l.max_tokens, toInt64(m.max_input_tokens)) AS max_tokens,
    b.window_tokens AS window_tokens,
    b.window_expected AS window_expected, b.cache_read AS cache_read, b.cache_written AS cache_written,
    b.prefix_tokens AS prefix_tokens, b.new_tokens AS new_tokens, b.penalty_tokens AS penalty_tokens,
    b.cause AS cause, b.gap_seconds AS gap_seconds, b.lost_tokens AS lost_tokens, b.cost AS recorded_cost,
    b.currency AS recorded_currency, b.priced_cost AS priced_cost, b.priced_currency AS priced_currency,
    b.at_least_cost AS at_least_cost, b.cost_lacks AS cost_lacks
FROM cache_bill AS b
LEFT JOIN limits AS l ON l.attempt_id = b.attempt_id AND l.call_id = b.call_id
LEFT JOIN model_limits AS m ON m.model = toString(b.model)
WHERE ({tenant:String} = '' OR b.tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND b.session_id = {session_id:String}
ORDER BY b.thread_order, b.stream_seq
LIMIT {limit:UInt32}
