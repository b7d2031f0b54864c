-- How often were facts published twice, and by which producer?
-- Section: Is the ledger sound?
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' means all tenants
--   session_id  String  id    = ''              only this session; '' means all sessions
--   days        UInt32  days  = 0   [0..36500]  only facts of this many days before the newest fact; 0 means all
-- Columns:
--   tenant    id     the tenant
--   source    text   the producer
--   repeats   count  messages whose identity was already recorded; they do not count as facts
--   facts     count  distinct facts that were repeated
--   sessions  count  sessions
--   last_at   time   time of the last repeat
SELECT
    tenant, source, count() AS repeats, uniqExact(event_id) AS facts, uniqExact(session_id) AS sessions,
    max(recorded_at) AS last_at
FROM repeated_events
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
GROUP BY tenant, source
ORDER BY repeats DESC, tenant, source
