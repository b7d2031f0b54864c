-- What became visible to a target without being in a recorded assembly?
-- Section: What was chosen, what left out?
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' is all
--   session_id  String  id    = ''                only this session; '' is all
--   days        UInt32  days  = 0    [0..36500]   recorded in the last days before the newest fact; 0 is all
--   limit       UInt32  rows  = 100  [1..100000]  most rows to return
-- Columns:
--   tenant          id      the tenant
--   session_id      id      the session
--   turn_id         id      the turn
--   call_id         id      the model call
--   injection_id    id      the injection
--   assembly_id     id      the assembly that it names; empty for none
--   injection_kind  text    head, persona, reminder, memory, …
--   target          text    what it became visible to
--   item_refs       id      its items that no block of the assembly has
--   tokens          tokens  of the injection; NULL if not known
--   problem         text    no assembly named, assembly not recorded, or items not in the assembly
SELECT i.tenant AS tenant, i.session_id AS session_id, i.turn_id AS turn_id, i.call_id AS call_id, i.injection_id AS injection_id,
    i.assembly_id AS assembly_id, i.injection_kind AS injection_kind, i.target AS target,
    arrayFilter(r -> NOT has(a.items, r), i.item_refs) AS item_refs, i.tokens AS tokens,
    multiIf(i.assembly_id = '', 'no assembly named', a.recorded = 0, 'assembly not recorded', 'items not in the assembly') AS problem
FROM (SELECT * FROM injections WHERE ({tenant:String} = '' OR tenant = {tenant:String})
       AND ({session_id:String} = '' OR session_id = {session_id:String})
       AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
       AND change = 'applied') AS i
LEFT JOIN
(
    SELECT tenant, session_id, assembly_id, arrayFlatten(groupArray(block_items)) AS items, count() AS recorded
    FROM assemblies
    WHERE ({tenant:String} = '' OR tenant = {tenant:String})
        AND ({session_id:String} = '' OR session_id = {session_id:String})
    GROUP BY tenant, session_id, assembly_id
) AS a ON a.tenant = i.tenant AND a.session_id = i.session_id AND a.assembly_id = i.assembly_id
WHERE i.assembly_id = '' OR a.recorded = 0 OR notEmpty(arrayFilter(r -> NOT has(a.items, r), i.item_refs))
ORDER BY tenant, session_id, i.thread_order, injection_id
LIMIT {limit:UInt32}
