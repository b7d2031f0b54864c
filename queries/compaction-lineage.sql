-- Which older summaries does a summary build on?
-- Section: What was shortened or summarised?
-- First: compaction_id, generation, ancestor_id, ancestor_time, ancestor_summary_ref
--
-- Parameters:
--   tenant      String  id    = ''                  only this tenant; '' means all tenants
--   session_id  String  id    = ''                  only this session; '' means all sessions
--   limit       UInt32  rows  = 10000  [1..100000]  maximum number of rows
-- Columns:
--   tenant                   id        the tenant
--   session_id               id        the session
--   thread_id                id        the thread
--   compaction_id            id        the compaction
--   generation               count     0 is the compaction itself, 1 is the compaction whose summary it replaced, …
--   ancestor_id              id        the compaction of this generation
--   ancestor_summary_ref     id        summary of the ancestor
--   ancestor_first_position  position  first entry of the item log that the ancestor replaced
--   ancestor_last_position   position  last entry of the item log that the ancestor replaced
--   ancestor_loss_notes      text      content that the ancestor lost
--   ancestor_time            time      time of the ancestor
SELECT
    tenant, session_id, thread_id, compaction_id, generation, ancestor_id, ancestor_summary_ref,
    ancestor_first_position, ancestor_last_position, ancestor_loss_notes, ancestor_time
FROM compaction_lineage
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
ORDER BY tenant, session_id, thread_id, compaction_id, generation, ancestor_id
LIMIT {limit:UInt32}
