-- Which sessions are there, and how big are they?
-- Section: What was used?
-- First: session_id, ended_at, models, turns, calls, max_window_tokens, output, at_least_cost, cost_complete, agents
--
-- The newest sessions come first. Without a session_id, the query reads the table itself to find them: its
-- projection ids has the newest times. A row that is stored twice makes no difference there. The facts of these
-- sessions are then found by the filters by_session_id. There is no table with a row for each session: its rows
-- would have to follow late facts, erasures and logs that are told again, and the query is fast without one.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' means all tenants
--   session_id  String  id    = ''                only this session; '' means all sessions
--   agent       String  text  = ''                only sessions with this agent; '' means all agents
--   model       String  text  = ''                only sessions with calls of this model; '' means all models
--   day         String  text  = ''                only sessions whose last fact is of this day in UTC, such as
--       2026-01-31; '' means all days
--   before      String  time  = ''                only sessions that come after this ended_at in the answer;
--       1970-01-01T00:00:00Z for NULL; '' means all sessions
--   before_tenant   String  id  = ''              of the sessions with ended_at before, those after this tenant
--   before_session  String  id  = ''              and this session
--   limit       UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant             id        the tenant
--   session_id         id        the session
--   agents             text      agents of the session
--   models             text      models of its calls
--   started_at         time      time of the first fact; NULL if the log has no times
--   ended_at           time      time of the last fact; NULL if the log has no times
--   turns              count     number of turns
--   runs               count     number of runs
--   calls              count     model calls
--   max_window_tokens  tokens    largest billed window
--   uncached_input     tokens    input outside the cache
--   cache_read         tokens    input read from the cache
--   cache_written      tokens    input written to the cache
--   output             tokens    output without reasoning
--   items              count     context items
--   selections         count     number of selections
--   compactions        count     completed compactions
--   elisions           count     elision passes
--   redactions         count     number of redactions
--   gaps               count     detected gaps
--   events             count     number of facts
--   cost               currency  sum of the recorded costs; NULL if no cost is known
--   priced_cost        currency  sum of the priced calls by the price list; NULL if no call has a price, or in
--       several currencies
--   priced_currencies  text      currencies of priced_cost
--   unpriced_calls     count     calls without a price in the price list
--   price_sources      text      sources of the prices in at_least_cost
--   at_least_cost      currency  priced_cost and what is known of the other calls; NULL if nothing is known, or in
--       several currencies
--   partial_calls      count     calls with a count that is not known, or a placeholder and not final
--   cost_complete      bool      whether at_least_cost lacks nothing; otherwise it is a lower bound
SELECT
    tenant, session_id, agents, models, started_at, ended_at, turns, runs, calls, max_window_tokens, uncached_input,
    cache_read, cache_written, output, items, selections, compactions, elisions, redactions, gaps, events,
    cost, priced_cost, priced_currencies, unpriced_calls, price_sources, at_least_cost, partial_calls, cost_complete
FROM session_summary
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND (
        {session_id:String} != ''
            OR (tenant, session_id) IN
            (
                WITH if(
                    max(newest) < toDateTime64('1971-01-01', 9, 'UTC'), toDateTime64(0, 9, 'UTC'), max(newest)
                ) AS ended
                SELECT tenant, session_id
                FROM
                (
                    SELECT tenant, session_id, source, agent, max(event_time) AS newest
                    FROM events
                    WHERE (
                        {tenant:String} = ''
                            OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
                        AND (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
                        AND (
                            {model:String} = ''
                                OR (tenant, session_id) IN
                                (
                                    SELECT tenant, session_id
                                    FROM calls
                                    WHERE model = {model:String}
                                ))
                    GROUP BY tenant, session_id, source, agent
                )
                GROUP BY tenant, session_id
                HAVING ({agent:String} = '' OR countIf(agent = {agent:String}) > 0)
                    AND ({day:String} = '' OR toString(toDate(max(newest), 'UTC')) = {day:String})
                    AND (
                        {before:String} = ''
                            OR ended < toDateTime64OrNull({before:String}, 9, 'UTC')
                            OR ended = toDateTime64OrNull({before:String}, 9, 'UTC')
                                AND (tenant, session_id) > ({before_tenant:String}, {before_session:String}))
                ORDER BY ended DESC, tenant, session_id
                LIMIT {limit:UInt32}
            ))
ORDER BY ended_at DESC, tenant, session_id
LIMIT {limit:UInt32}
