-- What do injections cost in each turn, by kind?
-- Section: What was used?
--
-- A prompt head is sent with every call. Its tokens therefore count for each call of the turn.
--
-- Parameters:
--   tenant          String  id    = ''                only this tenant; '' means all tenants
--   session_id      String  id    = ''                only this session; '' means all sessions
--   injection_kind  String  text  = ''                only this kind; '' is all
--   days            UInt32  days  = 0    [0..36500]   only facts of this many days before the newest fact; 0 means
--       all
--   limit           UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant          id      the tenant
--   session_id      id      the session
--   turn_id         id      the turn
--   injection_kind  text    kind of the injection: head, persona, reminder, memory, …
--   injections      count   number of injections
--   calls           count   distinct model calls that they name
--   tokens          tokens  tokens of all injections; NULL if no tokens are known
--   unknown         count   injections whose tokens are not known
--   ephemeral       count   injections that leave the window after the call
SELECT
    tenant, session_id, turn_id, injection_kind, uniqExact(injection_id) AS injections,
    uniqExactIf(call_id, call_id != '') AS calls, sum(injections.tokens) AS tokens,
    countIf(injections.tokens IS NULL) AS unknown, countIf(injections.ephemeral) AS ephemeral
FROM injections
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({injection_kind:String} = '' OR injections.injection_kind = {injection_kind:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
    AND change = 'applied'
GROUP BY tenant, session_id, turn_id, injection_kind
ORDER BY tenant, session_id, min(thread_order), injection_kind
LIMIT {limit:UInt32}
