-- Which summaries does a summary stand on?
-- Section: What was shortened or summarised?
-- First: compaction_id, generation, ancestor_id, ancestor_time, ancestor_summary_ref
--
-- Parameters:
--   tenant      String  id    = ''                  only this tenant; '' is all
--   session_id  String  id    = ''                  only this session; '' is all
--   limit       UInt32  rows  = 10000  [1..100000]  most rows to return
-- Columns:
--   tenant                   id        the tenant
--   session_id               id        the session
--   thread_id                id        the thread
--   compaction_id            id        the compaction
--   generation               count     0 is itself, 1 the one whose summary it replaced, …
--   ancestor_id              id        that compaction
--   ancestor_summary_ref     id        its summary
--   ancestor_first_position  position  first entry of the item log that it replaced
--   ancestor_last_position   position  last entry that it replaced
--   ancestor_loss_notes      text      what it lost
--   ancestor_time            time      when
SELECT
    tenant, session_id, thread_id, compaction_id, generation, ancestor_id, ancestor_summary_ref,
    ancestor_first_position, ancestor_last_position, ancestor_loss_notes, ancestor_time
FROM compaction_lineage
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
ORDER BY tenant, session_id, thread_id, compaction_id, generation, ancestor_id
LIMIT {limit:UInt32}
