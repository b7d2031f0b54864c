-- In which sessions does an item id occur?
-- Section: What did the model see?
-- First: session_id, first_at, last_at, versions, title
--
-- The newest sessions come first.
--
-- Parameters:
--   tenant   String  id    = ''               only this tenant; '' means all tenants
--   item_id  String  id    required           the item
--   limit    UInt32  rows  = 100  [1..10000]  maximum number of rows
-- Columns:
--   tenant      id     the tenant
--   session_id  id     the session
--   first_at    time   time of its first version; NULL where the log has no times
--   last_at     time   time of its last version; NULL where the log has no times
--   versions    count  versions of the item
--   title       text   title of the last version
SELECT
    tenant, session_id, minOrNullIf(event_time, event_time >= toDateTime64('1971-01-01', 9, 'UTC')) AS first_at,
    maxOrNullIf(event_time, event_time >= toDateTime64('1971-01-01', 9, 'UTC')) AS last_at, count() AS versions,
    argMax(i.title, i.thread_order) AS title
FROM item_versions AS i
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND item_id = {item_id:String}
    AND session_id != ''
GROUP BY tenant, session_id
ORDER BY last_at DESC, tenant, session_id
LIMIT {limit:UInt32}
