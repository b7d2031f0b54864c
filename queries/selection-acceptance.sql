-- From which sources are candidates taken, and from which are they left out?
-- Section: What was chosen, and what was left out?
--
-- An item has the kind of its newest version. The query reads the table itself to find this version. A row
-- that is stored twice makes no difference there. The query counts kinds by their hashes and adds their names at
-- the end.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' means all tenants
--   session_id  String  id    = ''                only this session; '' means all sessions
--   days        UInt32  days  = 0    [0..36500]   only facts of this many days before the newest fact; 0 means all
--   limit       UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant           id      the tenant
--   source_kind      text    kind of the item's source; the item's context kind if the source has none
--   candidates       count   decisions on candidates
--   selected         count   decisions that selected the candidate
--   acceptance       ratio   selected / candidates
--   selected_tokens  tokens  tokens selected, as far as known
--   omitted_tokens   tokens  tokens omitted, as far as known
--   mean_score       score   mean score of the candidates with a score
WITH
kinds AS
(
    SELECT
        tenant, session_id, item_id,
        multiIf(
            notEmpty(source_kinds) AND source_kinds[1] != '', source_kinds[1], context_kind != '', context_kind,
            'unknown') AS kind,
        ifNull(sequence, toInt64(stream_seq)) AS at
    FROM items
    WHERE change != 'removed'
        AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
),
completed AS
(
    SELECT
        tenant, cityHash64(tenant, session_id) AS session, arrayMap(i -> cityHash64(i), item_refs) AS items,
        outcomes, tokens, scores
    FROM selections
    WHERE change = 'completed'
        AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
),
decided AS
(
    SELECT tenant, cityHash64(session, item) AS item, outcome, size, score
    FROM completed
    ARRAY JOIN items AS item, outcomes AS outcome, tokens AS size, scores AS score
),
taken_by_kind AS
(
    SELECT
        d.tenant AS tenant, if(k.kind = 0, cityHash64('unknown'), k.kind) AS kind, count() AS decided,
        countIf(outcome = 'selected') AS taken, sumIf(size, outcome = 'selected') AS taken_tokens,
        sumIf(size, outcome = 'omitted') AS left_tokens, avg(score) AS mean_score
    FROM decided AS d
    LEFT ANY JOIN
    (
        SELECT
            cityHash64(cityHash64(tenant, session_id), cityHash64(item_id)) AS item,
            argMax(cityHash64(kind), at) AS kind
        FROM kinds
        GROUP BY item
    ) AS k
        ON k.item = d.item
    GROUP BY tenant, kind
)
SELECT
    c.tenant AS tenant, if(n.kind = '', 'unknown', n.kind) AS source_kind, c.decided AS candidates, c.taken AS selected,
    selected / candidates AS acceptance, c.taken_tokens AS selected_tokens, c.left_tokens AS omitted_tokens,
    c.mean_score AS mean_score
FROM taken_by_kind AS c
LEFT ANY JOIN (SELECT cityHash64(kind) AS hash, kind FROM kinds GROUP BY kind) AS n ON n.hash = c.kind
ORDER BY candidates DESC, tenant, source_kind
LIMIT {limit:UInt32}
