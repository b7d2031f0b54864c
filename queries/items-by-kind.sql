-- What kinds of items does a session hold, and how much do they fill?
-- Section: What was used?
--
-- Of each item, only the newest version counts. The query reads the table itself to find this version. A
-- row that is stored twice makes no difference there.
--
-- Parameters:
--   tenant      String  id    = ''              only this tenant; '' means all tenants
--   session_id  String  id    = ''              only this session; '' means all sessions
--   days        UInt32  days  = 0   [0..36500]  only facts of this many days before the newest fact; 0 means all
-- Columns:
--   tenant          id      the tenant
--   session_id      id      the session
--   context_kind    text    kind of the items
--   layer           text    layer of the window that they fill; empty if no model sees them
--   items           count   distinct items
--   tokens          tokens  tokens of the items, as far as known; NULL if none is known
--   unknown_tokens  count   items whose tokens are not known
--   bytes           bytes   bytes of the items, as far as known
--   masked          count   items with a mark that content is withheld
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
            AND (tenant, session_id, source) NOT IN (SELECT tenant, session_id, source FROM retold)
        GROUP BY sipHash128(tenant, session_id, item_id)
    )
GROUP BY tenant, session_id, context_kind, layer
ORDER BY tenant, session_id, items DESC, context_kind
