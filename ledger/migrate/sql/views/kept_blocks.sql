-- One row an assembly that builds on another one: the blocks that it keeps, in order.
--
-- The blocks are those of its base, of the base of its base, and so on. Of a base that was recorded
-- again the newest record of each part counts. An assembly that keeps more blocks than its bases have
-- has fewer blocks here than it keeps, or no row. Tellings of one log have their own bases.
--
-- Needs: assembly_bases, placements.
--
--   tenant       LowCardinality(String)  id
--   session_id   String                  id
--   attempt_id   String                  id
--   teller       String                  text   source of an import; empty for other sources
--   assembly_id  String                  id
--   kept_names       Array(String)                  text      names of the kept blocks, in order
--   kept_items       Array(Array(String))           id        their items, in parallel
--   kept_positions   Array(Int64)                   position  their places in the window, in parallel
--   kept_layers      Array(LowCardinality(String))  text      their layers, in parallel
--   kept_roles       Array(LowCardinality(String))  text      their roles, in parallel
--   kept_wrappers    Array(LowCardinality(String))  text      what they are wrapped in, in parallel
--   kept_tokens      Array(Nullable(Int64))         tokens    their sizes, in parallel
--   kept_digests     Array(String)                  text      their keyed digests, in parallel
--   kept_redactions  Array(LowCardinality(String))  text      how much of them is withheld, in parallel
--   kept_equalities  Array(String)                  text      digests that are equal in all tellings, in parallel
CREATE OR REPLACE VIEW kept_blocks AS
SELECT
    tenant, session_id, attempt_id, teller, assembly_id, kept.2 AS kept_names, kept.3 AS kept_items,
    kept.4 AS kept_positions, kept.5::Array(LowCardinality(String)) AS kept_layers,
    kept.6::Array(LowCardinality(String)) AS kept_roles, kept.7::Array(LowCardinality(String)) AS kept_wrappers,
    kept.8 AS kept_tokens, kept.9 AS kept_digests, kept.10::Array(LowCardinality(String)) AS kept_redactions,
    kept.11 AS kept_equalities
FROM
(
    SELECT
        tenant, session_id, attempt_id, teller, assembly_id,
        arraySort(b -> (b.4, b.1), groupArrayArray(arrayFilter(b -> b.4 < kept_until, held))) AS kept
    FROM
    (
        SELECT
            p.tenant AS tenant, p.session_id AS session_id, p.attempt_id AS attempt_id, m.teller AS teller,
            m.assembly_id AS assembly_id, m.member AS member, m.kept_until AS kept_until,
            JSONExtractUInt(p.metadata, 'part') AS part,
            argMax(
                arrayZip(
                    arrayEnumerate(p.blocks), p.blocks, p.block_items,
                    arrayMap(
                        (place, given) -> assumeNotNull(ifNull(place, ifNull(p.keep, 0) + toInt64(given) - 1)),
                        p.block_positions, arrayEnumerate(p.blocks)),
                    p.block_layers, p.block_roles, arrayResize(p.block_wrappers, length(p.blocks)), p.block_tokens,
                    p.block_digests, p.block_redactions, arrayResize(p.block_equalities, length(p.blocks))),
                ifNull(p.sequence, toInt64(p.stream_seq))) AS held
        FROM placements AS p
        INNER JOIN assembly_bases AS m
            ON m.tenant = p.tenant
                AND m.session_id = p.session_id
                AND m.attempt_id = p.attempt_id
                AND m.member = cityHash64(p.assembly_id)
                AND m.teller = if(startsWith(p.source, 'urn:ctxledger:import:'), toString(p.source), '')
        WHERE p.record_kind = 'assembly'
        GROUP BY tenant, session_id, attempt_id, teller, assembly_id, member, kept_until, part
    )
    GROUP BY tenant, session_id, attempt_id, teller, assembly_id
);
