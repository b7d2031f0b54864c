-- Which items of a session have an id like this one?
-- Section: What did the model see?
--
-- Ids that begin with the given id come first. Ids with the fewest typing errors come next.
-- The query reads the tables themselves, by their key. A row that is stored twice makes no difference
-- there.
--
-- Parameters:
--   tenant      String  id    = ''               only this tenant; '' means all tenants
--   session_id  String  id    required           the session
--   item_id     String  id    = ''               the id, or its beginning; '' lists any items
--   as_of       String  time  = ''               state that the ledger knew at this stream time; '' means the current
--       state
--   limit       UInt32  rows  = 10  [1..100000]  maximum number of rows
-- Columns:
--   item_ref  id     the item
--   title     text   title of the item, if a fact gives one
--   begins    bool   whether its id begins with the given id
--   distance  count  number of letters to change between the two ids
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
        AND (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
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
