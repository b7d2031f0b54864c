-- Which sessions are there, and how big are they?
-- Section: What was used?
-- First: session_id, ended_at, models, turns, calls, max_window_tokens, output, agents
--
-- The newest come first. It reads the table itself to find which they are, unless one is asked for: a row
-- that is stored twice makes no difference there.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' is all
--   session_id  String  id    = ''                only this session; '' is all
--   limit       UInt32  rows  = 100  [1..100000]  most rows to return
-- Columns:
--   tenant             id      the tenant
--   session_id         id      the session
--   agents             text    agents that took part
--   models             text    models that were called
--   started_at         time    first fact
--   ended_at           time    last fact
--   turns              count   turns
--   runs               count   runs
--   calls              count   model calls
--   max_window_tokens  tokens  largest window that was billed
--   uncached_input     tokens  input outside the cache
--   cache_read         tokens  input read from the cache
--   cache_written      tokens  input written to the cache
--   output             tokens  output
--   items              count   context items
--   selections         count   selections
--   compactions        count   completed compactions
--   elisions           count   elision passes
--   redactions         count   redactions
--   gaps               count   gaps that were detected
--   events             count   facts
SELECT
    tenant, session_id, agents, models, started_at, ended_at, turns, runs, calls, max_window_tokens, uncached_input,
    cache_read, cache_written, output, items, selections, compactions, elisions, redactions, gaps, events
FROM session_summary
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND (
        {session_id:String} != ''
            OR (tenant, session_id) IN
            (
                SELECT tenant, session_id
                FROM events
                WHERE (
                    {tenant:String} = ''
                        OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
                GROUP BY tenant, session_id
                ORDER BY max(event_time) DESC, tenant, session_id
                LIMIT {limit:UInt32}
            ))
ORDER BY ended_at DESC, tenant, session_id
LIMIT {limit:UInt32}
