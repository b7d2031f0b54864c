-- Which facts does a turn have?
-- Section: What did the model see?
--
-- It reads the table itself, by its key; a row that is stored twice counts once.
--
-- Parameters:
--   tenant      String  id    = ''      only this tenant; '' is all
--   session_id  String  id    required  the session
--   turn_id     String  id    required  the turn
--   as_of       String  time  = ''      as the ledger knew it then, by the stream's time; '' is all that it knows
-- Columns:
--   event_type         text   the kind of fact
--   facts              count  facts of that kind
--   call_ids           id     model calls that they name
--   first_at           time   first of them
--   last_at            time   last of them
--   first_recorded_at  time   when the stream stored the first
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
