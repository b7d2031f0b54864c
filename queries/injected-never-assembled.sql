-- Which context became visible to a target without a recorded assembly?
-- Section: What was chosen, and what was left out?
-- First: turn_id, call_id, injection_kind, tokens, problem, item_refs
--
-- The query reads the table itself. The query first finds, by sums, the assemblies whose items differ from the
-- items of their injections. A row that is stored twice can only make the query read more assemblies. Items are
-- not compared with an assembly that lacks blocks of its base.
--
-- Parameters:
--   tenant      String  id    = ''                only this tenant; '' means all tenants
--   session_id  String  id    = ''                only this session; '' means all sessions
--   days        UInt32  days  = 0    [0..36500]   only facts of this many days before the newest fact; 0 means all
--   limit       UInt32  rows  = 100  [1..100000]  maximum number of rows
-- Columns:
--   tenant          id      the tenant
--   session_id      id      the session
--   turn_id         id      the turn
--   call_id         id      the model call
--   injection_id    id      the injection
--   assembly_id     id      the assembly that the injection names; empty for none
--   injection_kind  text    kind of the injection: head, persona, reminder, memory, …
--   target          text    target that sees the context
--   item_refs       id      items of the injection that no block of the assembly has
--   tokens          tokens  tokens of the injection; NULL if not known
--   problem         text    the problem: no assembly named, assembly not recorded, or items not in the assembly
WITH
sums AS
(
    SELECT
        tenant, session_id, attempt_id, assembly_id, record_kind = 'injection' AS shown,
        arraySum(r -> cityHash64(r), if(shown, item_refs, arrayFlatten(block_items))) AS sum
    FROM placements
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND record_kind IN ('assembly', 'injection')
),
suspects AS
(
    SELECT sipHash128(tenant, session_id, attempt_id, assembly_id) AS assembly
    FROM sums
    GROUP BY assembly
    HAVING countIf(shown) > 0
        AND (
            countIf(NOT shown) = 0
                OR sumIf(sum, NOT shown) != minIf(sum, shown)
                OR minIf(sum, shown) != maxIf(sum, shown))
),
based AS
(
    SELECT
        tenant, session_id, attempt_id, assembly_id, groupUniqArrayArray(arrayFlatten(block_items)) AS whole,
        max(has(coverage_reasons, 'base_missing')) AS lacking
    FROM based_assemblies
    WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
    GROUP BY tenant, session_id, attempt_id, assembly_id
)
SELECT
    tenant, session_id, turn_id, call_id, record_id AS injection_id, assembly_id, injection_kind, target,
    arrayFilter(r -> NOT has(held, r) AND NOT has(whole, r), s.item_refs) AS item_refs, tokens,
    multiIf(
        assembly_id = '', 'no assembly named', recorded = 0, 'assembly not recorded', 'items not in the assembly'
    ) AS problem
FROM
(
    SELECT
        *, countIf(record_kind = 'assembly') OVER assembly AS recorded,
        groupArrayArray(if(record_kind = 'assembly', arrayFlatten(block_items), [])) OVER assembly AS held
    FROM placements FINAL
    PREWHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        AND ({session_id:String} = '' OR session_id = {session_id:String})
        AND (
            record_kind = 'injection' AND assembly_id = ''
                OR record_kind IN ('assembly', 'injection')
                    AND sipHash128(tenant, session_id, attempt_id, assembly_id) IN (suspects))
    WINDOW assembly AS (PARTITION BY tenant, session_id, attempt_id, assembly_id)
) AS s
LEFT JOIN based USING (tenant, session_id, attempt_id, assembly_id)
WHERE record_kind = 'injection'
    AND ({days:UInt32} = 0 OR recorded_at > (SELECT recorded_at FROM ledger_head) - toIntervalDay({days:UInt32}))
    AND (
        assembly_id = ''
            OR recorded = 0
            OR lacking = 0 AND notEmpty(arrayFilter(r -> NOT has(held, r) AND NOT has(whole, r), s.item_refs)))
ORDER BY tenant, session_id, ifNull(sequence, toInt64(stream_seq)), injection_id
LIMIT {limit:UInt32}
