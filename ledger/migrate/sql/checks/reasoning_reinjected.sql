-- What replays reasoning of an earlier turn as content.
--
-- Needs: based_assemblies, items, log_items, placements.
--
--   tenant             LowCardinality(String)  id
--   session_id         String                  id
--   turn_id            String                  id
--   call_id            String                  id
--   record_id          String                  id
--   item_ref           String                  id
--   reasoning_turn_id  String                  id
--   problem            String                  text
CREATE OR REPLACE VIEW check_reasoning_reinjected_of AS
WITH
thoughts AS
(
    SELECT tenant, session_id, if(item_ref = '', log_item_id, item_ref) AS item_ref, turn_id
    FROM log_items
    WHERE item_type = 'reasoning' AND turn_id != '' AND {of_tenant}
    UNION ALL
    SELECT tenant, session_id, item_id, turn_id
    FROM items
    WHERE change = 'added' AND (context_kind = 'reasoning' OR layer = 'reasoning') AND turn_id != '' AND {of_tenant}
),
shown AS
(
    SELECT
        tenant, session_id, turn_id, call_id, assembly_id AS record_id,
        arrayJoin(arrayFlatten(arrayFilter((i, l) -> l != 'reasoning', block_items, block_layers))) AS item_ref
    FROM
    (
        SELECT tenant, session_id, turn_id, call_id, assembly_id, block_items, block_layers
        FROM placements
        WHERE record_kind = 'assembly' AND base_assembly_id = '' AND {of_tenant}
        UNION ALL
        SELECT tenant, session_id, turn_id, call_id, assembly_id, block_items, block_layers
        FROM based_assemblies
        WHERE {of_tenant}
    )
    UNION ALL
    SELECT tenant, session_id, turn_id, call_id, record_id, arrayJoin(item_refs)
    FROM placements
    WHERE record_kind = 'injection' AND assembly_id = '' AND {of_tenant}
)
SELECT DISTINCT
    s.tenant AS tenant, s.session_id AS session_id, s.turn_id AS turn_id, s.call_id AS call_id,
    s.record_id AS record_id, s.item_ref AS item_ref, t.first_turn AS reasoning_turn_id,
    'reasoning of an earlier turn is replayed as content' AS problem
FROM shown AS s
INNER JOIN
(
    SELECT tenant, session_id, item_ref, min(turn_id) AS first_turn, groupUniqArray(turn_id) AS turns
    FROM thoughts
    GROUP BY tenant, session_id, item_ref
) AS t ON t.tenant = s.tenant AND t.session_id = s.session_id AND t.item_ref = s.item_ref
WHERE NOT has(t.turns, s.turn_id);
