-- Which turns have an id like this one?
-- Section: What did the model see?
--
-- Ids that begin with the given id come first. Ids with the fewest typing errors come next. Each id is
-- listed with its newest session. Without a session_id, the query reads every call, assembly and entry of
-- the ledger.
-- The query reads the tables themselves. A row that is stored twice makes no difference there.
--
-- Parameters:
--   tenant      String  id    = ''               only this tenant; '' means all tenants
--   session_id  String  id    = ''               only this session; '' means all sessions
--   turn_id     String  id    = ''               the id, or its beginning; '' lists the newest turns
--   limit       UInt32  rows  = 10  [1..100000]  maximum number of rows
-- Columns:
--   turn_id     id     the turn
--   session_id  id     the newest session with the turn
--   sessions    count  sessions with the turn
--   begins      bool   whether its id begins with the given id
--   distance    count  number of letters to change between the two ids; 0 without a given id
--   last_at     time   time at which its newest fact was recorded
SELECT
    turn AS turn_id, argMax(session, newest) AS session_id, uniqExact(session) AS sessions,
    toBool(startsWith(turn, {turn_id:String})) AS begins,
    if({turn_id:String} = '', 0, editDistance(turn, {turn_id:String})) AS distance, max(newest) AS last_at
FROM
(
    SELECT turn_id AS turn, session_id AS session, max(recorded_at) AS newest
    FROM calls
    PREWHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND turn_id != ''
    GROUP BY turn, session
    UNION ALL
    SELECT turn_id, session_id, max(recorded_at)
    FROM placements
    PREWHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND turn_id != ''
    GROUP BY turn_id, session_id
    UNION ALL
    SELECT turn_id, session_id, max(recorded_at)
    FROM log_items
    PREWHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND turn_id != ''
    GROUP BY turn_id, session_id
)
GROUP BY turn
ORDER BY begins DESC, distance, last_at DESC, turn_id
LIMIT {limit:UInt32}
