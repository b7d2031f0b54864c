-- Which turns have an id like this one?
-- Section: What did the model see?
--
-- Those whose id begins with it come first, then the nearest by typing errors, each with the newest session
-- that has it.
-- Without a session it looks through every call, assembly and entry of a log.
-- It reads the tables themselves; a row that is stored twice changes nothing.
--
-- Parameters:
--   tenant      String  id    = ''               only this tenant; '' is all
--   session_id  String  id    = ''               only this session; '' is all
--   turn_id     String  id    = ''               the id, or its beginning; '' lists the newest
--   limit       UInt32  rows  = 10  [1..100000]  most rows to return
-- Columns:
--   turn_id     id     the turn
--   session_id  id     the newest session that has it
--   sessions    count  sessions that have it
--   begins      bool   whether its id begins with what was asked for
--   distance    count  letters to change to get from one to the other; 0 where nothing was asked for
--   last_at     time   when its newest fact was recorded
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
ORDER BY begins DESC, distance, last_at DESC, turn
LIMIT {limit:UInt32}
