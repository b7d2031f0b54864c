-- Which resources did runs declare, and did a provider serve them?
-- Section: What was withheld, granted or missing?
-- First: resource_name, outcome, reason, effective_mode, run_id
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' is all
--   session_id  String  id    = ''                only this session; '' is all
--   days        UInt32  days  = 0    [0..36500]   recorded in the last days before the newest fact; 0 is all
--   limit       UInt32  rows  = 100  [1..100000]  most rows to return
-- Columns:
--   tenant          id     the tenant
--   session_id      id     the session
--   run_id          id     the run
--   binding_id      id     the resource as the run has it
--   resource_name   text   its name in the manifest
--   resource_kind   text   the kind of provider
--   outcome         text   resolved, or unresolved where no provider serves it
--   reason          text   why it is unresolved
--   declared_mode   text   read or read-write, as declared
--   effective_mode  text   read or read-write, as granted; empty where it is unresolved
--   tools           text   tools that the model was shown
--   config_keys     text   names of the provider's settings
--   items           count  context items that its provider gave
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
