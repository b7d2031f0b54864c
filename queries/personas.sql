-- When did the persona change, and from which to which?
-- Section: What was used?
--
-- A refresh of the same persona, by a reminder in each turn, is no change. A separate injection tells the
-- model of a change; this query does not list it.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' means all tenants
--   session_id  String  id    = ''                only this session; '' means all sessions
--   days        UInt32  days  = 0    [0..36500]   only facts of this many days before the newest fact; 0 means all
--   limit       UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant        id      the tenant
--   session_id    id      the session
--   turn_id       id      the turn
--   call_id       id      the first model call with the new persona; empty if not known
--   event_time    time    time of the change
--   persona_from  text    the persona before the change; empty for none
--   persona_to    text    the persona after the change; empty for none
--   injection_id  id      the injection that records the change
--   tokens        tokens  tokens of the injection; NULL if not known
SELECT tenant, session_id, turn_id, call_id, event_time, previous AS persona_from, persona_to, injection_id, tokens
FROM
(
    SELECT
        *, lagInFrame(persona_to, 1, persona_from) OVER thread AS previous
    FROM injections
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND change = 'applied'
        AND persona_to != ''
        AND injection_kind != 'persona_cue'
    WINDOW thread AS (
        PARTITION BY tenant, session_id, thread_id
        ORDER BY thread_order, stream_seq
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
)
WHERE previous != persona_to
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
ORDER BY tenant, session_id, thread_order, stream_seq
LIMIT {limit:UInt32}
