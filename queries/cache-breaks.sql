-- Which calls lost the most of the prompt cache?
-- Section: What did the cache cost?
-- First: cause, lost_tokens, recomputed_billed, event_time, model, session_id, turn_id, call_id
--
-- The query reads the table itself to find the sessions with calls in these days. A row that is stored twice
-- makes no difference there. The calls give the lost tokens without their windows. The query therefore reads
-- only the windows of the sessions that lost the most.
--
-- Parameters:
--   tenant      String  id      = ''                   only this tenant; '' means all tenants
--   session_id  String  id      = ''                   only this session; '' means all sessions
--   days        UInt32  days    = 0   [0..36500]       only facts of this many days before the newest fact; 0 means
--       all
--   min_lost    UInt32  tokens  = 1   [0..4000000000]  minimum of lost tokens; 0 also lists unbilled calls
--   limit       UInt32  rows    = 50  [1..100000]      maximum number of rows
-- Columns:
--   tenant                  id       the tenant
--   session_id              id       the session
--   turn_id                 id       the turn
--   call_id                 id       the model call
--   event_time              time     time of the call
--   model                   text     the model
--   cause                   text     cause of the break
--   lost_tokens             tokens   tokens that the previous call left in the cache and this call did not read
--   window_tokens           tokens   billed tokens of the window
--   cache_read              tokens   input read from the cache
--   recomputed_billed       tokens   window − cache read
--   recomputed_expected     tokens   window − common prefix, by our estimate
--   gap_seconds             seconds  seconds since the previous call
--   cache_lifetime_seconds  seconds  lifetime of the cache, as far as known
--   previous_call_id        id       the previous call
--   cache_miss_reason       text     the provider's reason for the break, as it says it; empty if it says none
WITH
recent AS
(
    SELECT tenant, session_id
    FROM calls
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND {days:UInt32} > 0
        AND recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32})
),
lagged AS
(
    SELECT
        tenant, session_id, recorded_at, cache_read, row_number() OVER lineage AS number,
        lagInFrame(cache_read) OVER lineage AS read, lagInFrame(cache_written) OVER lineage AS written
    FROM model_calls
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR (tenant, session_id) IN (recent))
        AND NOT synthetic
    WINDOW lineage AS (
        PARTITION BY tenant, session_id, thread_id, lineage_id
        ORDER BY thread_order, stream_seq
        ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
),
losses AS
(
    SELECT
        *,
        if(number = 1 OR read IS NULL AND written IS NULL, NULL, ifNull(read, 0) + ifNull(written, 0)) AS reusable,
        if(reusable < cache_read, 0, reusable - cache_read) AS lost
    FROM lagged
),
worst AS
(
    SELECT tenant, session_id
    FROM losses
    WHERE number > 1
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND ifNull(lost, 0) >= {min_lost:UInt32}
    ORDER BY lost DESC NULLS LAST
    LIMIT {limit:UInt32} WITH TIES
)
SELECT
    tenant, session_id, turn_id, call_id, event_time, model, cause, lost_tokens, window_tokens, cache_read,
    recomputed_billed, recomputed_expected, gap_seconds, cache_lifetime_seconds, previous_call_id,
    cache_miss_reason
FROM cache_breaks
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
    AND (tenant, session_id) IN (worst)
    AND ifNull(lost_tokens, 0) >= {min_lost:UInt32}
ORDER BY lost_tokens DESC NULLS LAST, recomputed_expected DESC NULLS LAST, tenant, session_id, thread_order
LIMIT {limit:UInt32}
