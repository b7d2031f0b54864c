-- Which resources did runs declare, and did a provider serve them?
-- Section: What was withheld, granted or missing?
-- First: resource_name, outcome, reason, effective_mode, run_id
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' means all tenants
--   session_id  String  id    = ''                only this session; '' means all sessions
--   days        UInt32  days  = 0    [0..36500]   only facts of this many days before the newest fact; 0 means all
--   limit       UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant          id     the tenant
--   session_id      id     the session
--   run_id          id     the run
--   binding_id      id     the binding of the resource to the run
--   resource_name   text   name of the resource in the manifest
--   resource_kind   text   kind of the provider
--   outcome         text   resolved, or unresolved if no provider serves the resource
--   reason          text   reason for which the resource is unresolved
--   declared_mode   text   declared mode: read or read-write
--   effective_mode  text   granted mode: read or read-write; empty for an unresolved resource
--   tools           text   tools that the model saw
--   config_keys     text   names of the provider's settings
--   items           count  context items that the provider supplied
WITH given AS
(
    SELECT tenant, session_id, binding_id AS record_id, uniqExact(item_id) AS items
    FROM item_versions
    WHERE binding_id != ''
        AND ({session_id:String} = '' OR session_id = {session_id:String})
    GROUP BY tenant, session_id, binding_id
)
SELECT
    tenant, session_id, run_id, record_id AS binding_id, resource_name, resource_kind,
    if(outcome = '', 'resolved', outcome) AS outcome, reason, declared_mode, effective_mode, tools, config_keys, items
FROM scope_records
LEFT JOIN given USING (tenant, session_id, record_id)
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
    AND record_kind = 'resource_resolved'
ORDER BY event_time DESC, tenant, session_id, stream_seq
LIMIT {limit:UInt32}
