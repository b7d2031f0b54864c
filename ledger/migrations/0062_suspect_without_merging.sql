-- Two checks that read everything, made to read less again.

-- check_conservation: one row a selection and way in which it breaks the rule
-- candidates = selected + omitted. Suspects are found without merging, and once: a row
-- that is stored twice can only make a suspect of its selection.
CREATE OR REPLACE VIEW check_conservation AS
WITH
suspects AS
(
    SELECT DISTINCT tenant, session_id, selection_id
    FROM
    (
        SELECT tenant, session_id, record_id AS selection_id, record_kind = 'selection_completed' AS completed, parts, length(item_refs) AS items, arraySum(i -> cityHash64(i), item_refs) AS items_sum,
            length(candidate_refs) AS considered, arraySum(i -> cityHash64(i), candidate_refs) AS considered_sum,
            length(arrayDistinct(item_refs)) < items OR arrayExists((o, r) -> o = 'omitted' AND r = '', outcomes, reasons) AS wrong
        FROM decisions
        WHERE record_kind IN ('selection_started', 'selection_completed')
    )
    GROUP BY tenant, session_id, selection_id
    HAVING countIf(completed) > 0
        AND (countIf(completed) > 1 OR max(ifNull(parts, 1)) > 1 OR max(wrong) > 0
            OR minIf(considered, considered > 0) != maxIf(considered, considered > 0) OR minIf(considered_sum, considered > 0) != maxIf(considered_sum, considered > 0)
            OR max(considered) > 0 AND (max(considered) != max(items) OR maxIf(considered_sum, considered > 0) != maxIf(items_sum, completed)))
),
decided AS
(
    SELECT tenant, session_id, selection_id, any(turn_id) AS turn_id, any(call_id) AS call_id,
        arrayDistinct(arrayFlatten(groupArray(candidate_refs))) AS considered,
        arrayDistinct(arrayFlatten(groupArrayIf(arrayFilter((i, o) -> o = 'selected', item_refs, outcomes), change = 'completed'))) AS chosen,
        arrayDistinct(arrayFlatten(groupArrayIf(arrayFilter((i, o) -> o = 'omitted', item_refs, outcomes), change = 'completed'))) AS left_out,
        arrayDistinct(arrayFlatten(groupArrayIf(arrayFilter((i, o, r) -> o = 'omitted' AND r = '', item_refs, outcomes, reasons), change = 'completed'))) AS unexplained,
        countIf(change = 'completed') AS completed, uniqExactIf(part, change = 'completed' AND parts > 1) AS parts_seen, maxIf(parts, change = 'completed') AS parts_said
    FROM selections INNER JOIN suspects USING (tenant, session_id, selection_id) GROUP BY tenant, session_id, selection_id
    HAVING completed > 0
)
SELECT tenant, session_id, turn_id, call_id, selection_id, violation.1 AS problem, violation.2 AS item_refs
FROM decided
ARRAY JOIN arrayFilter(v -> v.3, [
    ('candidate is neither selected nor omitted', arrayFilter(i -> NOT has(chosen, i) AND NOT has(left_out, i), considered) AS lacking, notEmpty(lacking)),
    ('candidate is both selected and omitted', arrayIntersect(chosen, left_out) AS twice, notEmpty(twice)),
    ('decided item was no candidate', if(empty(considered), [], arrayFilter(i -> NOT has(considered, i), arrayConcat(chosen, left_out))) AS strange, notEmpty(strange)),
    ('omission has no reason', unexplained, notEmpty(unexplained)),
    (concat('only ', toString(parts_seen), ' of ', toString(parts_said), ' parts of the selection are recorded'), [], ifNull(parts_said > 1 AND parts_seen < parts_said, false))]) AS violation;

-- check_reasoning_reinjected: reasoning that is shown as content in another turn than
-- its own. Rows are distinct, so that one that is stored twice makes no difference.
CREATE OR REPLACE VIEW check_reasoning_reinjected AS
WITH
thoughts AS
(
    SELECT tenant, session_id, if(item_ref = '', log_item_id, item_ref) AS item_ref, turn_id FROM log_items WHERE item_type = 'reasoning' AND turn_id != ''
    UNION ALL
    SELECT tenant, session_id, item_id, turn_id FROM items WHERE change = 'added' AND (context_kind = 'reasoning' OR layer = 'reasoning') AND turn_id != ''
),
shown AS
(
    SELECT tenant, session_id, turn_id, call_id, assembly_id AS record_id, arrayJoin(arrayFlatten(arrayFilter((i, l) -> l != 'reasoning', block_items, block_layers))) AS item_ref
    FROM placements WHERE record_kind = 'assembly'
    UNION ALL
    SELECT tenant, session_id, turn_id, call_id, record_id, arrayJoin(item_refs) FROM placements WHERE record_kind = 'injection' AND assembly_id = ''
)
SELECT DISTINCT s.tenant AS tenant, s.session_id AS session_id, s.turn_id AS turn_id, s.call_id AS call_id, s.record_id AS record_id,
    s.item_ref AS item_ref, t.turn_id AS reasoning_turn_id, 'reasoning of an earlier turn is replayed as content' AS problem
FROM shown AS s INNER JOIN thoughts AS t ON t.tenant = s.tenant AND t.session_id = s.session_id AND t.item_ref = s.item_ref
WHERE t.turn_id != s.turn_id;
