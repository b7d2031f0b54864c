-- When did the persona change, and from which to which?
-- Section: What was used?
--
-- A persona that is only refreshed, by a reminder in each turn, is no change. The message that tells the
-- model of a change is an injection of its own, and not listed here.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' is all
--   session_id  String  id    = ''                only this session; '' is all
--   days        UInt32  days  = 0    [0..36500]   recorded in the last days before the newest fact; 0 is all
--   limit       UInt32  rows  = 100  [1..100000]  most rows to return
-- Columns:
--   tenant        id      the tenant
--   session_id    id      the session
--   turn_id       id      the turn
--   call_id       id      the model call that saw it first; empty if not said
--   event_time    time    when
--   persona_from  text    the persona before; empty for none
--   persona_to    text    the persona after; empty for none
--   injection_id  id      the injection that carries the change
--   tokens        tokens  of the injection; NULL if not known
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
