-- Does the elision of old results save more tokens than it costs, by policy?
-- Section: What was shortened or summarised?
--
-- A break after an idle gap counts as idle, not as elision. A policy whose items were only loaded again has no passes.
-- The query reads the table itself for the times of elisions and compactions. A row that is stored twice
-- makes no difference there.
--
-- Parameters:
--   tenant       String   id     = ''                only this tenant; '' means all tenants
--   session_id   String   id     = ''                only this session; '' means all sessions
--   days         UInt32   days   = 0     [0..36500]  only facts of this many days before the newest fact; 0 means all
--   read_ratio   Float64  ratio  = 0.1   [0.001..1]  price of a cached input token / price of an uncached input token
--   write_ratio  Float64  ratio  = 1.25  [0..10]     price of a token written to the cache / price of an uncached
--       input token
-- Columns:
--   tenant             id      the tenant
--   policy             text    the elision policy
--   passes             count   elision passes
--   items              count   elided items
--   reloads            count   items that were loaded again
--   saved_tokens       tokens  tokens kept out of every later window, as far as known; NULL if unknown
--   recomputed_tokens  tokens  window − cache read of the calls right after the passes; NULL if not billed
--   lost_tokens        tokens  recomputed tokens that had been in the cache; NULL if not known
--   later_calls        count   calls of the thread after the passes; the saving counts once per call
--   break_even_calls   count   calls until a pass saves more than it costs: lost · (write − read) / (saved · read);
--       NULL if not known
WITH
passes AS
(
    SELECT
        tenant, session_id, thread_id, thread_order, policy, pass_id, part, length(elided_refs) AS items,
        coalesce(
            tokens_saved, tokens_before - tokens_after,
            if(
                empty(elided_before) OR has(elided_before, NULL) OR has(elided_after, NULL), NULL,
                arraySum(arrayMap((b, a) -> ifNull(b - a, 0), elided_before, elided_after)))) AS saved
    FROM elisions
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND change = 'applied'
),
reloaded AS
(
    SELECT tenant, policy, sum(length(elided_refs)) AS items
    FROM elisions
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
        AND change = 'reloaded'
    GROUP BY tenant, policy
),
-- The calls whose cause in cache_breaks is an elision. The causes with a higher precedence need neither
-- assemblies nor prices.
paired AS
(
    SELECT
        tenant, session_id, thread_id, thread_order, model, system_digest, tools_digest, recomputed_billed, cache_read,
        lagInFrame(thread_order) OVER lineage AS previous_order, lagInFrame(model) OVER lineage AS previous_model,
        lagInFrame(system_digest) OVER lineage AS previous_system,
        lagInFrame(tools_digest) OVER lineage AS previous_tools,
        lagInFrame(cache_read) OVER lineage AS previous_read,
        lagInFrame(cache_written) OVER lineage AS previous_written,
        coalesce(gap_seconds, dateDiff('millisecond', lagInFrame(event_time) OVER lineage, event_time) / 1000) AS gap,
        coalesce(
            cache_lifetime_seconds,
            multiIf(
                lagInFrame(cache_write_1h) OVER lineage > 0, 3600, lagInFrame(cache_write_5m) OVER lineage > 0, 300,
                NULL)) AS lifetime,
        row_number() OVER lineage AS number
    FROM model_calls
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND ({session_id:String} != '' OR (tenant, session_id) IN (SELECT tenant, session_id FROM passes))
        AND NOT synthetic
    WINDOW lineage AS (
        PARTITION BY tenant, session_id, thread_id, lineage_id
        ORDER BY thread_order, stream_seq
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
),
marks AS
(
    SELECT
        tenant, session_id, thread_id, groupArrayIf(at, NOT compacted) AS elided_at,
        groupArrayIf(at, compacted) AS compacted_at
    FROM
    (
        SELECT
            tenant, session_id, record_kind = 'compaction' AS compacted,
            if(compacted AND source_thread_id != '', source_thread_id, thread_id) AS thread_id,
            ifNull(sequence, toInt64(stream_seq)) AS at
        FROM replacements
        WHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND ({session_id:String} = '' OR session_id = {session_id:String})
            AND (record_kind = 'elision' OR record_kind = 'compaction' AND change = 'completed')
    )
    GROUP BY tenant, session_id, thread_id
),
breaks AS
(
    SELECT
        p.tenant AS tenant, p.session_id AS session_id, p.thread_id AS thread_id, p.thread_order AS thread_order,
        p.recomputed_billed AS recomputed_billed,
        ifNull(p.previous_read, 0) + ifNull(p.previous_written, 0) AS left_behind,
        if(
            p.previous_read IS NULL AND p.previous_written IS NULL, NULL,
            if(left_behind < p.cache_read, 0, left_behind - p.cache_read)) AS lost_tokens
    FROM paired AS p
    INNER JOIN marks AS m ON m.tenant = p.tenant AND m.session_id = p.session_id AND m.thread_id = p.thread_id
    WHERE p.number > 1
        AND arrayExists(x -> x > p.previous_order AND x < p.thread_order, m.elided_at)
        AND NOT ifNull(p.gap > p.lifetime, false)
        AND p.model = p.previous_model
        AND NOT (p.system_digest != p.previous_system AND p.system_digest != '' AND p.previous_system != '')
        AND NOT (p.tools_digest != p.previous_tools AND p.tools_digest != '' AND p.previous_tools != '')
        AND NOT arrayExists(x -> x > p.previous_order AND x < p.thread_order, m.compacted_at)
),
later AS
(
    SELECT p.tenant AS tenant, p.policy AS policy, sum(arrayCount(at -> at > p.thread_order, c.orders)) AS calls
    FROM passes AS p
    INNER JOIN
    (
        SELECT tenant, session_id, thread_id, groupArray(thread_order) AS orders
        FROM model_calls
        WHERE (
            {tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
            AND ({session_id:String} = '' OR session_id = {session_id:String})
            AND ({session_id:String} != '' OR (tenant, session_id) IN (SELECT tenant, session_id FROM passes))
        GROUP BY tenant, session_id, thread_id
    ) AS c
        ON c.tenant = p.tenant AND c.session_id = p.session_id AND c.thread_id = p.thread_id
    WHERE p.part = 1
    GROUP BY tenant, policy
),
billed AS
(
    SELECT tenant, policy, sum(recomputed) AS recomputed, sum(lost) AS lost
    FROM
    (
        SELECT
            p.tenant AS tenant, p.policy AS policy, b.session_id, b.thread_id, b.thread_order,
            any(b.recomputed_billed) AS recomputed, any(b.lost_tokens) AS lost
        FROM passes AS p
        ASOF JOIN breaks AS b
            ON b.tenant = p.tenant
                AND b.session_id = p.session_id
                AND b.thread_id = p.thread_id
                AND b.thread_order > p.thread_order
        GROUP BY tenant, policy, b.session_id, b.thread_id, b.thread_order
    )
    GROUP BY tenant, policy
)
SELECT
    tenant, policy, countIf(f.first) AS passes, sum(f.elided) AS items, sum(f.reloaded) AS reloads,
    sum(f.saved) AS saved_tokens, sum(f.recomputed) AS recomputed_tokens, sum(f.lost) AS lost_tokens,
    sum(f.calls) AS later_calls,
    lost_tokens * (
        {write_ratio:Float64} - {read_ratio:Float64}
    ) / nullIf(saved_tokens * {read_ratio:Float64}, 0) AS break_even_calls
FROM
(
    SELECT
        tenant, policy, part = 1 AS first, items AS elided, 0 AS reloaded, saved,
        NULL AS recomputed, NULL AS lost, 0 AS calls
    FROM passes
    UNION ALL
    SELECT tenant, policy, false, 0, items, NULL, NULL, NULL, 0
    FROM reloaded
    UNION ALL
    SELECT tenant, policy, false, 0, 0, NULL, recomputed, lost, 0
    FROM billed
    UNION ALL
    SELECT tenant, policy, false, 0, 0, NULL, NULL, NULL, calls
    FROM later
) AS f
GROUP BY tenant, policy
ORDER BY saved_tokens DESC NULLS LAST, tenant, policy
