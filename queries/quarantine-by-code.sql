-- Which messages were quarantined, and why?
-- Section: Is the ledger sound?
--
-- Parameters:
--   tenant  String  id    = ''              only this tenant; '' means all tenants
--   days    UInt32  days  = 0   [0..36500]  only facts of this many days before the newest fact; 0 means all
-- Columns:
--   tenant       id        the tenant
--   code         text      code of the first violation
--   pointer      text      place of the violation in the message
--   messages     count     quarantined messages
--   sources      text      up to five sources of the messages
--   first_at     time      time of the first message
--   last_at      time      time of the last message
--   example_seq  sequence  stream sequence of the last message; `ctxledger quarantine show` prints the message
SELECT
    tenant, code, pointer, count() AS messages, arraySort(groupUniqArray(5)(source)) AS sources,
    min(recorded_at) AS first_at, max(recorded_at) AS last_at,
    argMax(stream_seq, recorded_at) AS example_seq
FROM refused_events
WHERE ({tenant:String} = '' OR tenant = {tenant:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
GROUP BY tenant, code, pointer
ORDER BY messages DESC, tenant, code, pointer
