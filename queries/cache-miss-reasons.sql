-- Where does the provider give another reason for a cache break than the ledger?
-- Section: What did the cache cost?
-- First: agrees, cause, cache_miss_reason, calls, lost_tokens, session_id, call_id
--
-- Anthropic names the first part that differs from the previous request. Its words model_changed, system_changed,
-- tools_changed and messages_changed have a counterpart among the causes of the ledger. Each of them disagrees with
-- the cause append if both windows are known. Other words, and other causes, cannot be compared. A disagreement is
-- a fact that one side does not know.
--
-- Parameters:
--   tenant      String  id     = ''                only this tenant; '' means all tenants
--   session_id  String  id     = ''                only this session; '' means all sessions
--   limit       UInt32  rows   = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant             id      the tenant
--   cause              text    cause of the break, by the ledger
--   cache_miss_reason  text    the provider's reason
--   agrees             flag    whether both mean the same; NULL if they cannot be compared
--   calls              count   calls with this cause and this reason
--   lost_tokens        tokens  tokens that these calls could have read from the cache
--   session_id         id      session of the call that lost the most
--   turn_id            id      its turn
--   call_id            id      this call
SELECT
    tenant, cause, cache_miss_reason,
    if(
        counterpart = '' OR cache_miss_reason NOT IN (
            'model_changed', 'system_changed', 'tools_changed', 'messages_changed'),
        NULL, toBool(counterpart = cache_miss_reason)) AS agrees,
    count() AS calls, sum(b.lost_tokens) AS lost_tokens,
    argMax(b.session_id, (ifNull(b.lost_tokens, 0), event_time)) AS session_id,
    argMax(b.turn_id, (ifNull(b.lost_tokens, 0), event_time)) AS turn_id,
    argMax(b.call_id, (ifNull(b.lost_tokens, 0), event_time)) AS call_id
FROM
(
    SELECT
        tenant, session_id, turn_id, call_id, event_time, cause, lost_tokens,
        toString(cache_miss_reason) AS cache_miss_reason,
        multiIf(
            cause = 'model_switch', 'model_changed', cause = 'system_change', 'system_changed',
            cause = 'tools_change', 'tools_changed',
            cause IN ('compaction', 'elision', 'pressure', 'injection', 'rewrite'), 'messages_changed',
            cause = 'append' AND penalty_tokens IS NOT NULL, 'nothing_changed', '') AS counterpart
    FROM cache_breaks
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND cache_miss_reason != ''
) AS b
GROUP BY tenant, cause, cache_miss_reason, agrees
ORDER BY agrees NULLS LAST, calls DESC, tenant, cause, cache_miss_reason
LIMIT {limit:UInt32}
