-- Which items of a session have an id like this one?
-- Section: What did the model see?
--
-- Those whose id begins with it come first, then the nearest by typing errors.
-- It reads the tables themselves, by their key; a row that is stored twice changes nothing.
--
-- Parameters:
--   tenant      String  id    = ''               only this tenant; '' is all
--   session_id  String  id    required           the session
--   item_id     String  id    = ''               the id, or its beginning; '' lists any
--   as_of       String  time  = ''               as the ledger knew it then, by the stream's time; '' is all that it
--       knows
--   limit       UInt32  rows  = 10  [1..100000]  most rows to return
-- Columns:
--   item_ref  id     the item
--   title     text   its title, where an item fact gave one
--   begins    bool   whether its id begins with what was asked for
--   distance  count  letters to change to get from one to the other
SELECT
    item AS item_ref, max(name) AS title, toBool(startsWith(item, {item_id:String})) AS begins,
    editDistance(item, {item_id:String}) AS distance
FROM
(
    SELECT item_id AS item, title AS name
    FROM items
    PREWHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
        AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
    UNION ALL
    SELECT if(item_ref = '', log_item_id, item_ref), ''
    FROM log_items
    PREWHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
        AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
    UNION ALL
    SELECT arrayJoin(arrayConcat(candidate_refs, item_refs)), ''
    FROM decisions
    PREWHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
        AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
    UNION ALL
    SELECT arrayJoin(arrayConcat(arrayFlatten(block_items), item_refs)), ''
    FROM placements
    PREWHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
        AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
    UNION ALL
    SELECT arrayJoin(arrayConcat(elided_refs, source_item_refs)), ''
    FROM replacements
    PREWHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
        AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
    UNION ALL
    SELECT target_ref, ''
    FROM redactions
    PREWHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
        AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
    UNION ALL
    SELECT arrayJoin(candidate_item_refs), ''
    FROM missing
    PREWHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND session_id = {session_id:String}
        AND ({as_of:String} = '' OR recorded_at <= parseDateTime64BestEffortOrZero({as_of:String}, 9, 'UTC'))
)
WHERE item != ''
GROUP BY item
ORDER BY begins DESC, distance, item
LIMIT {limit:UInt32}
