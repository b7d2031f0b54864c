-- Which messages were quarantined, why, and how did their replays end?
-- Section: Is the ledger sound?
-- First: stream_seq, recorded_at, code, reason, pointer, source
--
-- Parameters:
--   tenant   String  id    = ''          only this tenant; '' means all tenants
--   code     String  text  = ''          only this code of the first violation; '' means all codes
--   since    String  time  = ''          only messages that the stream stored at or after this time; '' means all
--   waiting  UInt32  flag  = 0   [0..1]  1 means only messages without a replay
-- Columns:
--   stream_seq   sequence  stream sequence of the message; `ctxledger quarantine show` prints the message
--   recorded_at  time      time at which the stream first stored the message
--   tenant       id        the tenant
--   code         text      code of the first violation
--   pointer      text      place of the violation in the message
--   source       text      the producer; '' if the envelope was not readable
--   event_id     id        the event; '' if the envelope was not readable
--   replayed_as  sequence  stream sequence of the last replay; NULL without a replay
--   outcome      text      outcome of the last replay: recorded, repeated or refused; '' without a replay
--   reason       text      all violations, for people
--   incarnation  id        id of the stream; a stream that is created again gets a new id
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
ORDER BY recorded_at DESC, stream_seq DESC
