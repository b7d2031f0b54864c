-- What was read from scratchpads and written to them?
-- Section: What was withheld, granted or missing?
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' means all tenants
--   session_id  String  id    = ''                only this session; '' means all sessions
--   days        UInt32  days  = 0    [0..36500]   only facts of this many days before the newest fact; 0 means all
--   limit       UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant         id      the tenant
--   session_id     id      the session
--   run_id         id      the run
--   turn_id        id      the turn
--   event_time     time    time of the operation
--   operation      text    loaded or written
--   scratchpad_id  id      id of the read or write
--   context_ids    id      ids of the scratchpads
--   entries        count   number of entries; NULL if not known
--   tokens         tokens  of the entries; NULL if not known
--   item_refs      id      items in the window that hold the entries
--   context_write  bool    whether the run's output is written back to scratchpads; NULL if not known
SELECT
    tenant, session_id, run_id, turn_id, event_time, substring(record_kind, 12) AS operation,
    record_id AS scratchpad_id, context_ids, entry_count AS entries, tokens, item_refs, o.allowed AS context_write
FROM scope_records
LEFT JOIN
(
    SELECT tenant, session_id, record_id AS run_id, any(context_write) AS allowed
    FROM scope_records
    WHERE record_kind = 'run'
    GROUP BY tenant, session_id, record_id
) AS o USING (tenant, session_id, run_id)
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
    AND record_kind IN ('scratchpad_loaded', 'scratchpad_written')
ORDER BY event_time DESC, tenant, session_id, stream_seq
LIMIT {limit:UInt32}
