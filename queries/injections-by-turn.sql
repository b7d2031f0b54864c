-- What do injections cost in each turn, by kind?
-- Section: What was used?
--
-- A prompt head is sent with every call. So its tokens count again for each call of the turn.
--
-- Parameters:
--   tenant          String  id    = ''                only this tenant; '' is all
--   session_id      String  id    = ''                only this session; '' is all
--   injection_kind  String  text  = ''                only this kind; '' is all
--   days            UInt32  days  = 0    [0..36500]   recorded in the last days before the newest fact; 0 is all
--   limit           UInt32  rows  = 100  [1..100000]  most rows to return
-- Columns:
--   tenant          id      the tenant
--   session_id      id      the session
--   turn_id         id      the turn
--   injection_kind  text    head, persona, reminder, memory, …
--   injections      count   injections
--   calls           count   model calls that they name
--   tokens          tokens  of the injections together; NULL if not known of any
--   unknown         count   injections whose tokens are not known
--   ephemeral       count   injections that do not stay in the window
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
