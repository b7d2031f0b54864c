-- How far are estimated tokens from the bills of a session, and how far after a correction?
-- Section: What did the model see?
-- First: session_id, calls, scale, offset_tokens, estimate_within_5, corrected_within_5, corrected_error_90
--
-- The query measures the error of the tokenizer by the session's own bills. The offset holds what the log
-- lacks, such as system prompt and tools. Stored estimates are never rescaled.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' means all tenants
--   session_id  String  id    = ''                only this session; '' means all sessions
--   days        UInt32  days  = 0    [0..36500]   only facts of this many days before the newest fact; 0 means all
--   limit       UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant              id      the tenant
--   session_id          id      the session
--   estimators          text    estimators of the estimates
--   calls               count   billed calls with an estimate
--   scale               ratio   billed tokens for each estimated token by which windows grew
--   offset_tokens       tokens  median of billed − scale × estimated
--   estimate_error_90   ratio   90 of 100 estimates differ by at most this part of the bill
--   estimate_within_5   ratio   share of the estimates that differ by at most 5 % of the bill
--   corrected_calls     count   calls with a corrected estimate, by the bill of a neighbour
--   corrected_error_90  ratio   90 of 100 corrected estimates differ by at most this part of the bill; NULL for none
--   corrected_within_5  ratio   share of the corrected estimates that differ by at most 5 % of the bill; NULL for none
--   corrected_worst     ratio   largest difference of a corrected estimate, as part of the bill; NULL for none
SELECT
    tenant, session_id, arraySort(groupUniqArrayIf(estimator, estimator != '')) AS estimators, count() AS calls,
    any(scale) AS scale, any(offset_tokens) AS offset_tokens,
    quantileExact(0.9)(abs(estimate_error)) AS estimate_error_90,
    countIf(abs(estimate_error) <= 0.05) / calls AS estimate_within_5, count(corrected_error) AS corrected_calls,
    if(corrected_calls = 0, NULL, quantileExact(0.9)(abs(corrected_error))) AS corrected_error_90,
    countIf(abs(corrected_error) <= 0.05) / nullIf(corrected_calls, 0) AS corrected_within_5,
    max(abs(corrected_error)) AS corrected_worst
FROM corrected_windows
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
GROUP BY tenant, session_id
ORDER BY max(recorded_at) DESC, tenant, session_id
LIMIT {limit:UInt32}
