-- How did the window of a session grow from call to call, and what did the cache do?
-- Section: What did the model see?
-- First: call_id, event_time, window_tokens, window_expected, cache_read, cache_written, cause, lost_tokens
--
-- Rows are in the order of the calls of each thread. Billed and expected numbers are in separate columns and
-- are never mixed. The explorer draws a session from this query. The query reads the table itself for how a
-- call is known: the view of all calls would rank their records again.
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
--   threshold_tokens     tokens    tokens above which the runtime shortens the window, by the newest policy of the
--       session; NULL if not recorded
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
--   break_cost           currency  part of priced_cost that the cache break caused; NULL without a price
--   cache_miss_reason    text      cause by the provider; empty if it gave none
--   fidelity             text      how the call is known; see query fidelity
--   coverage             text      whether the record has all that the model received; empty if unknown
--   coverage_reasons     text      why the coverage is partial
WITH
limits AS
(
    SELECT attempt_id, call_id, max(max_tokens) AS max_tokens
    FROM budgets
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
        AND target IN ('', 'model')
    GROUP BY attempt_id, call_id
),
policy AS
(
    SELECT
        argMax(
            least(
                if(trigger > 0, trigger, max_tokens),
                if(high_water > 0, intDiv((max_tokens - ifNull(reserved_tokens, 0)) * high_water, 100), max_tokens)),
            (recorded_at, stream_seq)) AS threshold
    FROM
    (
        SELECT
            max_tokens, reserved_tokens, recorded_at, stream_seq,
            JSONExtractInt(pressure_policy, 'trigger_tokens') AS trigger,
            JSONExtractInt(pressure_policy, 'high_water_percent') AS high_water
        FROM budgets
        WHERE (
            {tenant:String} = ''
                OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND session_id = {session_id:String}
            AND target IN ('', 'model')
            AND max_tokens > 0
            AND pressure_policy != ''
    )
),
told AS
(
    SELECT
        incarnation, stream_seq,
        multiIf(
            fidelity != '', toString(fidelity), startsWith(source, 'urn:ctxledger:import:'), 'reconstructed', 'stated'
        ) AS fidelity,
        toString(coverage) AS coverage, coverage_reasons
    FROM calls
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
    LIMIT 1 BY incarnation, stream_seq
)
SELECT
    b.thread_id AS thread_id, b.lineage_id AS lineage_id, b.run_id AS run_id, b.parent_run_id AS parent_run_id,
    toString(b.agent) AS agent, b.turn_id AS turn_id, b.attempt_id AS attempt_id, b.call_id AS call_id,
    b.event_time AS event_time, b.model AS model, coalesce(l.max_tokens, toInt64(m.max_input_tokens)) AS max_tokens,
    (SELECT threshold FROM policy) AS threshold_tokens, b.window_tokens AS window_tokens,
    b.window_expected AS window_expected, b.cache_read AS cache_read, b.cache_written AS cache_written,
    b.prefix_tokens AS prefix_tokens, b.new_tokens AS new_tokens, b.penalty_tokens AS penalty_tokens,
    b.cause AS cause, b.gap_seconds AS gap_seconds, b.lost_tokens AS lost_tokens, b.cost AS recorded_cost,
    b.currency AS recorded_currency, b.priced_cost AS priced_cost, b.priced_currency AS priced_currency,
    b.at_least_cost AS at_least_cost, b.cost_lacks AS cost_lacks,
    b.break_cost AS break_cost, toString(b.cache_miss_reason) AS cache_miss_reason, t.fidelity AS fidelity,
    t.coverage AS coverage, t.coverage_reasons AS coverage_reasons
FROM cache_bill AS b
LEFT JOIN limits AS l ON l.attempt_id = b.attempt_id AND l.call_id = b.call_id
LEFT JOIN told AS t ON t.incarnation = b.incarnation AND t.stream_seq = b.stream_seq
LEFT JOIN model_limits AS m ON m.model = toString(b.model)
WHERE ({tenant:String} = '' OR b.tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND b.session_id = {session_id:String}
ORDER BY b.thread_order, b.stream_seq
LIMIT {limit:UInt32}
