-- Which layers fill the window, and how does that change over time?
-- Section: What did the model see?
--
-- Tokens are estimates. A layer counts in each call whose window has the layer.
--
-- Parameters:
--   tenant        String  id     = ''              only this tenant; '' means all tenants
--   session_id    String  id     = ''              only this session; '' means all sessions
--   days          UInt32  days   = 0   [0..36500]  only facts of this many days before the newest fact; 0 means all
--   bucket_hours  UInt32  hours  = 24  [1..8760]   length of one period
-- Columns:
--   bucket           time    start of the period, by the time of the calls
--   layer            text    the layer
--   calls            count   calls whose window has the layer
--   tokens           tokens  tokens of the layer in these calls, as far as known; NULL if unknown
--   tokens_per_call  tokens  mean over the calls with known tokens
--   share            ratio   share of all known tokens of the period
--   unknown_calls    count   calls without known tokens of the layer
SELECT
    bucket, layer, calls, tokens, tokens_per_call, tokens / nullIf(sum(tokens) OVER (PARTITION BY bucket), 0) AS share,
    unknown_calls
FROM
(
    SELECT
        toStartOfInterval(event_time, toIntervalHour({bucket_hours:UInt32})) AS bucket, layer, count() AS calls,
        sum(u.tokens) AS tokens, avg(u.tokens) AS tokens_per_call, countIf(u.tokens IS NULL) AS unknown_calls
    FROM layer_usage AS u
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
    GROUP BY bucket, layer
)
ORDER BY bucket, tokens DESC NULLS LAST, layer
