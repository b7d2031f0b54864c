-- One row an assembly and an assembly whose blocks begin its window: its base, the base of
-- its base, and so on.
--
-- A window has the blocks of a member at the positions before kept_until. A window whose
-- members have fewer blocks than it keeps is partial. A base is among the 512 assemblies
-- of its session, attempt and teller that have a base themselves and come before, or it has none.
--
-- Needs: placements.
--
--   tenant       LowCardinality(String)  id
--   session_id   String                  id
--   attempt_id   String                  id
--   teller       String                  text      source of an import; empty for other sources
--   assembly_id  String                  id
--   keep         Int64                   count     blocks of the window that other assemblies hold
--   member       UInt64                  text      cityHash64 of the id of the assembly that holds them
--   kept_until   Int64                   position  the first position that the member does not hold for this window
CREATE OR REPLACE VIEW assembly_bases AS
WITH
links AS
(
    SELECT
        tenant, session_id, attempt_id, assembly_id, ifNull(keep, 0) AS keep, cityHash64(base_assembly_id) AS base,
        if(startsWith(source, 'urn:ctxledger:import:'), toString(source), '') AS teller,
        groupArray((cityHash64(assembly_id), base, ifNull(keep, 0))) OVER (
            PARTITION BY tenant, session_id, attempt_id, teller
            ORDER BY ifNull(sequence, toInt64(stream_seq))
            ROWS BETWEEN 511 PRECEDING AND CURRENT ROW) AS near
    FROM placements
    WHERE record_kind = 'assembly' AND base_assembly_id != ''
    ORDER BY ifNull(sequence, toInt64(stream_seq)) DESC
    LIMIT 1 BY tenant, session_id, attempt_id, teller, assembly_id
)
SELECT tenant, session_id, attempt_id, teller, assembly_id, keep, m.1 AS member, m.2 AS kept_until
FROM
(
    SELECT
        tenant, session_id, attempt_id, teller, assembly_id, keep,
        arrayFold(
            (found, step) -> if(
                length(found) < step,
                found,
                arrayConcat(
                    found,
                    arrayMap(
                        l -> (l.2, least(l.3, found[-1].2)),
                        arraySlice(arrayFilter(l -> l.1 = found[-1].1, near), -1)))),
            range(1, 63),
            [(base, keep)]) AS members
    FROM links
)
ARRAY JOIN members AS m
WHERE kept_until > 0;
