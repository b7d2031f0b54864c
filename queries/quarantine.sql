-- Which messages were refused, why, and what became of their replays?
-- Section: Is the ledger sound?
-- First: stream_seq, recorded_at, code, reason, pointer, source
--
-- Parameters:
--   tenant   String  id    = ''          only this tenant; '' is all
--   code     String  text  = ''          only this code of the first violation; '' is all
--   since    String  time  = ''          stored in the stream at this time or later; '' is all
--   waiting  UInt32  flag  = 0   [0..1]  1 is only those that were not replayed
-- Columns:
--   stream_seq   sequence  where the message stands in the stream; `ctxledger quarantine show` prints it
--   recorded_at  time      first seen: when the stream stored it
--   tenant       id        the tenant
--   code         text      code of the first violation
--   pointer      text      where in the message
--   source       text      the producer; '' when the envelope could not be read
--   event_id     id        the event; '' likewise
--   replayed_as  sequence  the last replay; NULL when there is none
--   outcome      text      what became of that: recorded, repeated or refused; '' when there is none
--   reason       text      all violations, for people
--   incarnation  id        the stream, which gets a new id when it is made anew
SELECT
    q.stream_seq AS stream_seq, q.recorded_at AS recorded_at, q.tenant AS tenant, q.code AS code, q.pointer AS pointer,
    q.source AS source, q.event_id AS event_id, if(r.replays > 0, r.replayed_as, NULL) AS replayed_as,
    r.outcome AS outcome, q.reason AS reason, q.incarnation AS incarnation
FROM refused_events AS q
LEFT JOIN
(
    SELECT
        if(tenant = '', 'default', toString(tenant)) AS whose, of_incarnation, of_seq, count() AS replays,
        argMax(stream_seq, recorded_at) AS replayed_as, argMax(outcome, recorded_at) AS outcome
    FROM quarantine_replays
    GROUP BY whose, of_incarnation, of_seq
) AS r
    ON r.of_incarnation = q.incarnation
        AND r.of_seq = q.stream_seq
        AND r.whose = if(q.tenant = '', 'default', toString(q.tenant))
WHERE ({tenant:String} = '' OR q.tenant = {tenant:String})
    AND ({code:String} = '' OR q.code = {code:String})
    AND ({since:String} = '' OR q.recorded_at >= parseDateTime64BestEffortOrZero({since:String}, 9, 'UTC'))
    AND ({waiting:UInt32} = 0 OR r.replays = 0)
ORDER BY q.recorded_at DESC, q.stream_seq DESC
