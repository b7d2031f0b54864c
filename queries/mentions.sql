-- In which turns of a session does a text occur, such as the name of a file?
-- Section: What did the model see?
-- First: turn_id, first_at, facts, items, example
--
-- The query searches the recorded facts: titles, references, reasons, and texts where they are stored. An import
-- stores texts with --store-text. Upper and lower case are the same.
--
-- Parameters:
--   tenant      String  id    = ''      only this tenant; '' means all tenants
--   session_id  String  id    required  the session
--   text        String  text  = ''      the text to find; '' finds every fact
-- Columns:
--   tenant      id     the tenant
--   session_id  id     the session
--   thread_id   id     the thread
--   turn_id     id     the turn; '' for facts of no turn
--   first_at    time   first fact with the text
--   last_at     time   last fact with the text
--   facts       count  facts with the text
--   items       count  items that these facts add or change
--   example     text   the title of one of the items, or the kind of a fact
SELECT
    tenant, session_id, thread_id, turn_id, min(event_time) AS first_at, max(event_time) AS last_at, count() AS facts,
    uniqExactIf(JSONExtractString(data, 'item_id'), JSONHas(data, 'item_id')) AS items,
    argMin(coalesce(nullIf(JSONExtractString(data, 'title'), ''), toString(event_type)), event_time) AS example
FROM recorded_events
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND session_id = {session_id:String}
    AND positionCaseInsensitiveUTF8(data, {text:String}) > 0
GROUP BY tenant, session_id, thread_id, turn_id
ORDER BY first_at, turn_id
