-- Which runs belong together, and what did each use with all runs below it?
-- Section: What was used?
-- First: run_id, parent_run_id, agent, calls, window_tokens, output_tokens, total_calls, total_output_tokens
--
-- Parameters:
--   tenant      String  id    = ''  only this tenant; '' is all
--   session_id  String  id    = ''  only this session; '' is all
--   tag         String  text  = ''  only runs that have this tag, or inherit it; '' is all
-- Columns:
--   tenant               id        the tenant
--   session_id           id        the session
--   root_run_id          id        the root run
--   run_id               id        the run
--   parent_run_id        id        the run that started it
--   depth                count     runs above it; 0 is a root
--   agent                text      the agent
--   scope_kind           text      session, agent, subagent or task
--   opened_at            time      when its scope was opened; NULL when that is not recorded
--   calls                count     its own model calls
--   total_calls          count     with all runs below it, each call once
--   window_tokens        tokens    its own input
--   total_window_tokens  tokens    with all runs below it
--   output_tokens        tokens    its own output
--   total_output_tokens  tokens    with all runs below it
--   total_cost           currency  with all runs below it, as far as known
--   total_priced_cost    currency  the same by the price list, of calls that have prices; NULL if none has
--   priced_currencies    text      of these prices; several have no sum
--   unpriced_calls       count     calls without a price, with all runs below it
--   tags                 text      the run's own tags
--   inherited_tags       text      tags that it passes on to the runs below it
SELECT
    tenant, session_id, root_run_id, run_id, parent_run_id, depth, agent, scope_kind, opened_at, calls, total_calls,
    window_tokens, total_window_tokens, output_tokens, total_output_tokens, total_cost,
    total_priced_cost, priced_currencies, unpriced_calls, tags, inherited_tags
FROM run_tree
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({tag:String} = '' OR has(tags, {tag:String}) OR has(inherited_tags, {tag:String}))
ORDER BY tenant, session_id, path
