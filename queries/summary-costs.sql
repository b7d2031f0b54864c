-- What did writing summaries cost: by which model, for which compaction or log?
-- Section: What was shortened or summarised?
--
-- A row is a summary's version or a compaction, and the model call that wrote the summary.
-- Costs are NULL where that call was not recorded.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' is all
--   session_id  String  id    = ''                only this session; '' is all
--   days        UInt32  days  = 0    [0..36500]   recorded in the last days before the newest fact; 0 is all
--   limit       UInt32  rows  = 100  [1..100000]  most rows to return
-- Columns:
--   tenant                id        the tenant
--   session_id            id        the session
--   event_time            time      when it was recorded
--   compaction_id         id        the compaction; '' for a log that is refreshed
--   outcome               text      completed, failed, discarded; created or refreshed for a log
--   summary_id            id        the summary
--   ephemeral_context_id  id        the sub-context that wrote a log; '' for others
--   summarizer_call_id    id        the call that wrote it
--   model                 text      its model; '' where it was not recorded
--   window_tokens         tokens    its input, billed; NULL if not known
--   output                tokens    its output, billed; NULL if not known
--   cost                  currency  as recorded; NULL if not known
--   priced_cost           currency  by the price list; NULL if not known
--   tokens_saved          tokens    that the compaction took out of the window; NULL if not known
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
    c.output AS output, c.cost AS cost, c.priced_cost AS priced_cost, w.tokens_saved AS tokens_saved
FROM written AS w
LEFT JOIN
(
    SELECT tenant, session_id, attempt_id, call_id, model, window_tokens, output, cost, priced_cost
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
