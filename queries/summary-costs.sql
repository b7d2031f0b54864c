-- What did summaries cost, by model and by compaction or log?
-- Section: What was shortened or summarised?
--
-- A row is a version of a summary, or a compaction, with the model call that wrote the summary. Costs are
-- NULL if the call was not recorded.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' means all tenants
--   session_id  String  id    = ''                only this session; '' means all sessions
--   days        UInt32  days  = 0    [0..36500]   only facts of this many days before the newest fact; 0 means all
--   limit       UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant                id        the tenant
--   session_id            id        the session
--   event_time            time      time of the record
--   compaction_id         id        the compaction; '' for a running log
--   outcome               text      outcome of a compaction: completed, failed or discarded; of a log: created or
--       refreshed
--   summary_id            id        the summary
--   ephemeral_context_id  id        the sub-context that wrote a log; '' for other summaries
--   summarizer_call_id    id        the call that wrote the summary
--   model                 text      model of the call; '' if not recorded
--   window_tokens         tokens    billed input of the call; NULL if not known
--   output                tokens    billed output of the call; NULL if not known
--   cost                  currency  recorded cost of the call; NULL if not known
--   priced_cost           currency  cost of the call by the price list; NULL if not known
--   tokens_saved          tokens    tokens that the compaction removed from the window; NULL if not known
--   at_least_cost         currency  priced_cost, or what the buckets with a final count cost; NULL if not known
WITH
written AS
(
    SELECT
        tenant, session_id, attempt_id, stream_seq, event_time, compaction_id, toString(change) AS outcome,
        summary_ref AS summary_id, '' AS ephemeral_context_id, summarizer_call_id,
        if(change = 'completed', tokens_before - tokens_after, NULL) AS tokens_saved
    FROM compactions
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND change != 'started'
        AND summarizer_call_id != ''
    UNION ALL
    SELECT
        tenant, session_id, attempt_id, stream_seq, event_time, '' AS compaction_id, toString(change) AS outcome,
        summary_id, ephemeral_context_id, summarizer_call_id, NULL AS tokens_saved
    FROM summaries
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND ephemeral_context_id != ''
        AND summarizer_call_id != ''
)
SELECT
    w.tenant AS tenant, w.session_id AS session_id, w.event_time AS event_time, w.compaction_id AS compaction_id,
    w.outcome AS outcome, w.summary_id AS summary_id, w.ephemeral_context_id AS ephemeral_context_id,
    w.summarizer_call_id AS summarizer_call_id, toString(c.model) AS model, c.window_tokens AS window_tokens,
    c.output AS output, c.cost AS cost, c.priced_cost AS priced_cost, w.tokens_saved AS tokens_saved,
    c.at_least_cost AS at_least_cost
FROM written AS w
LEFT JOIN
(
    SELECT tenant, session_id, attempt_id, call_id, model, window_tokens, output, cost, priced_cost, at_least_cost
    FROM call_costs
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
) AS c
    ON c.tenant = w.tenant
        AND c.session_id = w.session_id
        AND c.attempt_id = w.attempt_id
        AND c.call_id = w.summarizer_call_id
ORDER BY event_time DESC, tenant, session_id, w.stream_seq
LIMIT {limit:UInt32}
