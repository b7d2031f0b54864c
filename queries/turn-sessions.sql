-- In which sessions does a turn id occur?
-- Section: What did the model see?
--
-- Use this query first if only the turn is known: other queries about a turn need its session.
-- The query reads the table itself, by its index of turns. A row that is stored twice counts once, without
-- a merge.
--
-- Parameters:
--   tenant   String  id  = ''      only this tenant; '' means all tenants
--   turn_id  String  id  required  the turn
-- Columns:
--   tenant      id     the tenant
--   session_id  id     the session
--   thread_id   id     the thread
--   turn_id     id     the turn
--   facts       count  facts of the turn
--   first_at    time   time of the first fact; NULL where the log has no times
--   last_at     time   time of the last fact; NULL where the log has no times
SELECT
    tenant, session_id, any(thread_id) AS thread_id, turn_id, uniqExact(incarnation, stream_seq) AS facts,
    minOrNullIf(event_time, event_time >= toDateTime64('1971-01-01', 9, 'UTC')) AS first_at,
    maxOrNullIf(event_time, event_time >= toDateTime64('1971-01-01', 9, 'UTC')) AS last_at
FROM events
PREWHERE turn_id = {turn_id:String}
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
GROUP BY tenant, session_id, turn_id
ORDER BY last_at DESC, tenant, session_id
