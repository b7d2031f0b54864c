-- Which layers fill the window, and how does that change over time?
-- Section: What did the model see?
--
-- Tokens are estimates. A layer that calls fill again and again counts in each of them.
--
-- Parameters:
--   tenant        String  id     = ''              only this tenant; '' is all
--   session_id    String  id     = ''              only this session; '' is all
--   days          UInt32  days   = 0   [0..36500]  recorded in the last days before the newest fact; 0 is all
--   bucket_hours  UInt32  hours  = 24  [1..8760]   length of one stretch of time
-- Columns:
--   bucket           time    start of the stretch, by the time of the calls
--   layer            text    the layer
--   calls            count   calls whose window has the layer
--   tokens           tokens  tokens of the layer in all of them, as far as known; NULL if not at all
--   tokens_per_call  tokens  mean over the calls where they are known
--   share            ratio   of all known tokens of the stretch
--   unknown_calls    count   calls where the layer's tokens are not known
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
