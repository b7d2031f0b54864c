-- What records was a session imported from, by the type that its program gives them?
-- Section: What was used?
--
-- Records that carry no context are not facts and not here: the import counts them. Claude Code's records
-- have no type here.
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' is all
--   session_id  String  id    = ''              only this session; '' is all
--   days        UInt32  days  = 0   [0..36500]  recorded in the last days before the newest fact; 0 is all
-- Columns:
--   tenant       id      the tenant
--   session_id   id      the session
--   record_type  text    the program's own type, such as action:run or response_item:message; empty where the import
--       keeps none
--   records      count   records of the type
--   items        count   context items that they hold
--   tokens       tokens  of the items, as far as known; NULL if none is
SELECT tenant, session_id, record_type, uniqExact(record) AS records, count() AS items, sum(tokens) AS tokens
FROM
(
    SELECT
        tenant, session_id, JSONExtractString(metadata, 'record_type') AS record_type, token_estimate AS tokens,
        (
            JSONExtractString(metadata, 'record_uuid'), JSONExtractString(metadata, 'event_id'),
            JSONExtractRaw(metadata, 'line'), JSONExtractRaw(metadata, 'message'), JSONExtractRaw(metadata, 'step')
        ) AS record
    FROM item_versions
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND change = 'added'
)
GROUP BY tenant, session_id, record_type
ORDER BY tenant, session_id, records DESC, record_type
