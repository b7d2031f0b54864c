-- Which kinds of facts are recorded?
-- Section: Is the ledger sound?
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' means all tenants
--   session_id  String  id    = ''              only this session; '' means all sessions
--   days        UInt32  days  = 0   [0..36500]  only facts of this many days before the newest fact; 0 means all
-- Columns:
--   tenant      id     the tenant
--   event_type  text   the kind of fact
--   events      count  facts of this kind
--   sessions    count  sessions
--   sources     count  producers
--   first_at    time   time of the first fact
--   last_at     time   time of the last fact
SELECT
    tenant, event_type, count() AS events, uniqExact(session_id) AS sessions, uniqExact(source) AS sources,
    min(event_time) AS first_at, max(event_time) AS last_at
FROM recorded_events
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
GROUP BY tenant, event_type
ORDER BY events DESC, tenant, event_type
