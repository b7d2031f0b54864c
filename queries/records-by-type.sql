-- From which records was a session imported, by the program's record type?
-- Section: What was used?
--
-- Records without context are not facts and are not listed; the import counts them. Claude Code's records
-- have no type here.
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' means all tenants
--   session_id  String  id    = ''              only this session; '' means all sessions
--   days        UInt32  days  = 0   [0..36500]  only facts of this many days before the newest fact; 0 means all
-- Columns:
--   tenant       id      the tenant
--   session_id   id      the session
--   record_type  text    the program's own type, such as action:run or response_item:message; empty if the import
--       keeps no type
--   records      count   records of this type
--   items        count   context items of these records
--   tokens       tokens  tokens of the items, as far as known; NULL if none is known
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
