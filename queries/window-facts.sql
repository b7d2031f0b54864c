-- Which facts does a turn have?
-- Section: What did the model see?
--
-- The query reads the table itself, by its key. A row that is stored twice counts once.
--
-- Parameters:
--   tenant      String  id    = ''      only this tenant; '' means all tenants
--   session_id  String  id    required  the session
--   turn_id     String  id    required  the turn
--   as_of       String  time  = ''      state that the ledger knew at this stream time; '' means the current state
-- Columns:
--   event_type         text   the kind of fact
--   facts              count  facts of this kind
--   call_ids           id     distinct model calls that they name
--   first_at           time   time of the first fact
--   last_at            time   time of the last fact
--   first_recorded_at  time   time at which the stream stored the first fact
SELECT
    event_type, uniqExact(incarnation, stream_seq) AS facts, arraySort(groupUniqArrayIf(call, call != '')) AS call_ids,
    min(event_time) AS first_at, max(event_time) AS last_at, min(recorded_at) AS first_recorded_at
FROM
(
    SELECT
        event_type, incarnation, stream_seq, event_time, recorded_at,
        if(event_type = 'context.usage.recorded', subject, JSONExtractString(data, 'call_id')) AS call
    FROM events
    PREWHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
        AND turn_id = {turn_id:String}
        AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
)
GROUP BY event_type
ORDER BY facts DESC, event_type
