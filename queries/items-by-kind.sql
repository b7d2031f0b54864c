-- What kinds of items does a session hold, and how much do they fill?
-- Section: What was used?
--
-- Of an item its newest version counts. It reads the table itself to find which one that is: a row that is
-- stored twice makes no difference there.
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' is all
--   session_id  String  id    = ''              only this session; '' is all
--   days        UInt32  days  = 0   [0..36500]  recorded in the last days before the newest fact; 0 is all
-- Columns:
--   tenant          id      the tenant
--   session_id      id      the session
--   context_kind    text    what the items are
--   layer           text    what they fill of the window; empty where no model sees them
--   items           count   distinct items
--   tokens          tokens  of the items, as far as known; NULL if none is
--   unknown_tokens  count   items whose tokens are not known
--   bytes           bytes   of the items, as far as known
--   masked          count   items that a mark says content is withheld from
SELECT
    tenant, session_id, context_kind, layer, count() AS items, sum(token_estimate) AS tokens,
    countIf(token_estimate IS NULL) AS unknown_tokens,
    sum(byte_size) AS bytes, countIf(redaction_state = 'masked') AS masked
FROM item_versions
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    AND ({session_id:String} = '' OR session_id = {session_id:String})
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
    AND cityHash64(incarnation, stream_seq) IN
    (
        SELECT argMax(cityHash64(incarnation, stream_seq), ifNull(sequence, toInt64(stream_seq)))
        FROM items
        WHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND ({session_id:String} = '' OR session_id = {session_id:String})
            AND (
                {days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
            AND change != 'removed'
        GROUP BY sipHash128(tenant, session_id, item_id)
    )
GROUP BY tenant, session_id, context_kind, layer
ORDER BY tenant, session_id, items DESC, context_kind
