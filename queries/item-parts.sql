-- Which images, files and texts do items consist of?
-- Section: What was used?
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' means all tenants
--   session_id  String  id    = ''                only this session; '' means all sessions
--   days        UInt32  days  = 0    [0..36500]   only facts of this many days before the newest fact; 0 means all
--   limit       UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant      id      the tenant
--   session_id  id      the session
--   turn_id     id      the turn
--   event_time  time    time of the item
--   item_id     id      the item
--   part        count   place in the item; 1 is first
--   part_kind   text    kind of the part: text, image, file, …
--   name        text    name of the part, such as a file name
--   mime_type   text    media type
--   ref         id      location of the content
--   byte_size   bytes   size of the part; NULL if not known
--   tokens      tokens  tokens of the part; NULL if not known
SELECT tenant, session_id, turn_id, event_time, item_id, part, part_kind, name, mime_type, ref, byte_size, tokens
FROM item_parts
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
ORDER BY event_time DESC, tenant, session_id, stream_seq, part
LIMIT {limit:UInt32}
