-- Which messages were refused, and why?
-- Section: Is the ledger sound?
--
-- Parameters:
--   tenant  String  id    = ''              only this tenant; '' is all
--   days    UInt32  days  = 0   [0..36500]  recorded in the last days before the newest fact; 0 is all
-- Columns:
--   tenant       id        the tenant
--   code         text      code of the first violation
--   pointer      text      where in the message
--   messages     count     messages refused
--   sources      text      up to five of their sources
--   first_at     time      the first
--   last_at      time      the last
--   example_seq  sequence  stream sequence of the last; `ctxledger quarantine show` prints it
SELECT
    tenant, code, pointer, count() AS messages, arraySort(groupUniqArray(5)(source)) AS sources,
    min(recorded_at) AS first_at, max(recorded_at) AS last_at,
    argMax(stream_seq, recorded_at) AS example_seq
FROM refused_events
WHERE ({tenant:String} = '' OR tenant = {tenant:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
GROUP BY tenant, code, pointer
ORDER BY messages DESC, tenant, code, pointer
