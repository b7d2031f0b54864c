-- Selections where candidates = selected + omitted does not hold, an omission lacks its
-- reason, or a part is missing.
--
-- Two attempts may use one selection id; each is checked alone.
--
-- Selections whose stored sums agree are not looked at again.
--
-- Needs: decisions, selections.
--
--   tenant        LowCardinality(String)  id
--   session_id    String                  id
--   turn_id       String                  id
--   attempt_id    String                  id
--   call_id       String                  id
--   selection_id  String                  id
--   problem       Nullable(String)        text
--   item_refs     Array(String)           id  the items concerned; empty for a missing part
CREATE OR REPLACE VIEW check_conservation_of AS
WITH
suspects AS
(
    SELECT tenant, session_id, attempt_id, record_id AS selection_id
    FROM
    (
        SELECT
            tenant, session_id, attempt_id, record_id, record_kind = 'selection_completed' AS completed, parts,
            length(item_refs) AS items, items_hash, length(candidate_refs) AS considered, candidates_hash, contradicts
        FROM decisions
        WHERE record_kind IN ('selection_started', 'selection_completed') AND {of_tenant}
    )
    GROUP BY tenant, session_id, attempt_id, selection_id
    HAVING countIf(completed) > 0
        AND (
            countIf(completed) > 1
                OR max(ifNull(parts, 1)) > 1
                OR max(contradicts)
                OR minIf(considered, considered > 0) != maxIf(considered, considered > 0)
                OR minIf(candidates_hash, considered > 0) != maxIf(candidates_hash, considered > 0)
                OR max(considered) > 0
                    AND (
                        max(considered) != max(items)
                            OR maxIf(candidates_hash, considered > 0) != maxIf(items_hash, completed)))
),
decided AS
(
    SELECT
        tenant, session_id, attempt_id, selection_id, any(turn_id) AS turn_id, any(call_id) AS call_id,
        arrayDistinct(arrayFlatten(groupArray(candidate_refs))) AS considered,
        arrayDistinct(
            arrayFlatten(groupArrayIf(arrayFilter((i, o) -> o = 'selected', item_refs, outcomes), change = 'completed'))
        ) AS chosen,
        arrayDistinct(
            arrayFlatten(groupArrayIf(arrayFilter((i, o) -> o = 'omitted', item_refs, outcomes), change = 'completed'))
        ) AS left_out,
        arrayDistinct(
            arrayFlatten(
                groupArrayIf(
                    arrayFilter((i, o, r) -> o = 'omitted' AND r = '', item_refs, outcomes, reasons),
                    change = 'completed'))) AS unexplained,
        countIf(change = 'completed') AS completed, uniqExactIf(part, change = 'completed' AND parts > 1) AS parts_seen,
        maxIf(parts, change = 'completed') AS parts_said
    FROM selections
    WHERE (tenant, session_id, attempt_id, selection_id) IN (suspects)
    GROUP BY tenant, session_id, attempt_id, selection_id
    HAVING completed > 0
)
SELECT
    tenant, session_id, turn_id, attempt_id, call_id, selection_id, violation.1 AS problem, violation.2 AS item_refs
FROM decided
ARRAY JOIN arrayFilter(
    v -> v.3,
    [
        (
            'candidate is neither selected nor omitted',
            arrayFilter(i -> NOT has(chosen, i) AND NOT has(left_out, i), considered) AS lacking, notEmpty(lacking)),
        ('candidate is both selected and omitted', arrayIntersect(chosen, left_out) AS twice, notEmpty(twice)),
        (
            'decided item was no candidate',
            if(
                empty(considered), [], arrayFilter(i -> NOT has(considered, i), arrayConcat(chosen, left_out))
            ) AS strange,
            notEmpty(strange)),
        ('omission has no reason', unexplained, notEmpty(unexplained)),
        (
            concat('only ', toString(parts_seen), ' of ', toString(parts_said), ' parts of the selection are recorded'),
            [], ifNull(parts_said > 1 AND parts_seen < parts_said, false))]) AS violation;
