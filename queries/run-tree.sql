-- Which runs belong together, and what did each run use with all runs below it?
-- Section: What was used?
-- First: run_id, parent_run_id, agent, calls, window_tokens, output_tokens, total_calls, total_output_tokens
--
-- Parameters:
--   tenant      String  id    = ''  only this tenant; '' means all tenants
--   session_id  String  id    = ''  only this session; '' means all sessions
--   tag         String  text  = ''  only runs that have or inherit this tag; '' means all runs
-- Columns:
--   tenant               id        the tenant
--   session_id           id        the session
--   root_run_id          id        the root run
--   run_id               id        the run
--   parent_run_id        id        the run that started this run
--   depth                count     number of runs above it; 0 is a root
--   agent                text      the agent
--   scope_kind           text      session, agent, subagent or task
--   opened_at            time      time at which the scope was opened; NULL if not recorded
--   calls                count     model calls of the run itself
--   total_calls          count     model calls of the run and all runs below it, each call once
--   window_tokens        tokens    input of the run itself
--   total_window_tokens  tokens    input of the run and all runs below it
--   output_tokens        tokens    output of the run itself
--   total_output_tokens  tokens    output of the run and all runs below it
--   total_cost           currency  recorded cost of the run and all runs below it, as far as known
--   total_priced_cost    currency  cost of the same calls by the price list, as far as priced; NULL if no call has a
--       price
--   priced_currencies    text      currencies of total_priced_cost; several currencies have no sum
--   unpriced_calls       count     calls without a price, of the run and all runs below it
--   tags                 text      the run's own tags
--   inherited_tags       text      tags that the run passes on to the runs below it
--   total_at_least_cost  currency  total_priced_cost and what is known of the other calls; NULL if nothing is known
--   partial_calls        count     calls with a count that is not known, or a placeholder and not final, of the run
--       and all runs below it
SELECT
    tenant, session_id, root_run_id, run_id, parent_run_id, depth, agent, scope_kind, opened_at, calls, total_calls,
    window_tokens, total_window_tokens, output_tokens, total_output_tokens, total_cost,
    total_priced_cost, priced_currencies, unpriced_calls, tags, inherited_tags, total_at_least_cost, partial_calls
FROM run_tree
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({tag:String} = '' OR has(tags, {tag:String}) OR has(inherited_tags, {tag:String}))
ORDER BY tenant, session_id, path
