-- The standing checks: views that must be empty. Each row is one violation, with
-- a sentence in problem that says what is wrong. The conventions are those of 0004.

-- check_conservation: candidates = selected + omitted, over all parts of a
-- selection; each omission has a reason.
--   tenant, session_id, turn_id, call_id, selection_id, problem, item_refs (which
--   ones; empty for a missing part)
CREATE OR REPLACE VIEW check_conservation AS
WITH decided AS
(
    SELECT tenant, session_id, selection_id, any(turn_id) AS turn_id, any(call_id) AS call_id,
        arrayDistinct(arrayFlatten(groupArray(candidate_refs))) AS considered,
        arrayDistinct(arrayFlatten(groupArrayIf(arrayFilter((i, o) -> o = 'selected', item_refs, outcomes), change = 'completed'))) AS chosen,
        arrayDistinct(arrayFlatten(groupArrayIf(arrayFilter((i, o) -> o = 'omitted', item_refs, outcomes), change = 'completed'))) AS left_out,
        arrayDistinct(arrayFlatten(groupArrayIf(arrayFilter((i, o, r) -> o = 'omitted' AND r = '', item_refs, outcomes, reasons), change = 'completed'))) AS unexplained,
        countIf(change = 'completed') AS completed, uniqExactIf(part, change = 'completed' AND parts > 1) AS parts_seen, maxIf(parts, change = 'completed') AS parts_said
    FROM selections GROUP BY tenant, session_id, selection_id
    HAVING completed > 0
)
SELECT tenant, session_id, turn_id, call_id, selection_id, violation.1 AS problem, violation.2 AS item_refs
FROM decided
ARRAY JOIN arrayFilter(v -> notEmpty(v.2), [
    ('candidate is neither selected nor omitted', arrayFilter(i -> NOT has(chosen, i) AND NOT has(left_out, i), considered)),
    ('candidate is both selected and omitted', arrayIntersect(chosen, left_out)),
    ('decided item was no candidate', if(empty(considered), [], arrayFilter(i -> NOT has(considered, i), arrayConcat(chosen, left_out)))),
    ('omission has no reason', unexplained)]) AS violation
UNION ALL
SELECT tenant, session_id, turn_id, call_id, selection_id,
    concat('only ', toString(parts_seen), ' of ', toString(parts_said), ' parts of the selection are recorded'), []
FROM decided WHERE parts_said > 1 AND parts_seen < parts_said;

-- check_injected_without_assembly: injections that name an assembly that was never recorded.
--   tenant, session_id, turn_id, call_id, injection_id, assembly_id, problem
CREATE OR REPLACE VIEW check_injected_without_assembly AS
SELECT i.tenant AS tenant, i.session_id AS session_id, i.turn_id AS turn_id, i.call_id AS call_id, i.injection_id AS injection_id,
    i.assembly_id AS assembly_id, 'the injection names an assembly that is not recorded' AS problem
FROM (SELECT * FROM injections WHERE change = 'applied' AND assembly_id != '') AS i
LEFT ANTI JOIN assemblies AS a ON a.tenant = i.tenant AND a.session_id = i.session_id AND a.assembly_id = i.assembly_id;

-- check_redaction_reintroduced: blocks, items and injections that bring back, as not
-- redacted, an item that was redacted as removed or policy_blocked before.
--   tenant, session_id, turn_id, item_ref, redaction_id, record_id (of the assembly,
--   item version or injection), problem
CREATE OR REPLACE VIEW check_redaction_reintroduced AS
WITH
withheld AS
(
    SELECT tenant, target_ref, argMin(redaction_id, (recorded_at, stream_seq)) AS redaction_id, min((recorded_at, stream_seq)) AS since
    FROM redaction_trail WHERE redaction_state IN ('removed', 'policy_blocked') GROUP BY tenant, target_ref
),
shown AS
(
    SELECT tenant, session_id, turn_id, assembly_id AS record_id, (recorded_at, stream_seq) AS at, arrayJoin(b.2) AS item_ref,
        'an assembly holds the redacted item as not redacted' AS problem
    FROM assemblies ARRAY JOIN arrayZip(block_redactions, block_items) AS b
    WHERE b.1 IN ('', 'none') AND redaction_state IN ('', 'none')
    UNION ALL
    SELECT tenant, session_id, turn_id, item_id, (recorded_at, stream_seq), item_id, 'a later version of the item is not redacted'
    FROM item_versions WHERE change != 'removed' AND redaction_state IN ('', 'none')
    UNION ALL
    SELECT tenant, session_id, turn_id, injection_id, (recorded_at, stream_seq), arrayJoin(item_refs), 'an injection shows the redacted item as not redacted'
    FROM injections WHERE change = 'applied' AND redaction_state IN ('', 'none') AND assembly_id = ''
)
SELECT s.tenant AS tenant, s.session_id AS session_id, s.turn_id AS turn_id, s.item_ref AS item_ref, w.redaction_id AS redaction_id,
    s.record_id AS record_id, s.problem AS problem
FROM shown AS s INNER JOIN withheld AS w ON w.tenant = s.tenant AND w.target_ref = s.item_ref
WHERE s.at > w.since;

-- check_lost_runtime_ids: rows of the typed tables whose correlation ids are not
-- those of their event, or whose event is not there.
--   tenant, session_id, incarnation, stream_seq, table_name, problem
CREATE OR REPLACE VIEW check_lost_runtime_ids AS
SELECT any(tenant) AS tenant, any(session_id) AS session_id, incarnation, stream_seq,
    arrayStringConcat(arrayFilter((name, bit) -> bit > 0 AND bitTest(found, bit),
        ['events', 'scopes', 'items', 'decisions', 'windows', 'placements', 'replacements', 'redactions', 'missing', 'calls', 'log_items'],
        range(11)), ', ') AS table_name,
    if(bitTest(groupBitOr(part) AS found, 0), 'the row has other correlation ids than its event', 'the row has no event') AS problem
FROM
(
    SELECT tenant, session_id, incarnation, stream_seq, toUInt16(1) AS part, cityHash64(tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id) AS ids FROM events FINAL
    UNION ALL SELECT tenant, session_id, incarnation, stream_seq, toUInt16(2), cityHash64(tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id) FROM scopes FINAL
    UNION ALL SELECT tenant, session_id, incarnation, stream_seq, toUInt16(4), cityHash64(tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id) FROM items FINAL
    UNION ALL SELECT tenant, session_id, incarnation, stream_seq, toUInt16(8), cityHash64(tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id) FROM decisions FINAL
    UNION ALL SELECT tenant, session_id, incarnation, stream_seq, toUInt16(16), cityHash64(tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id) FROM windows FINAL
    UNION ALL SELECT tenant, session_id, incarnation, stream_seq, toUInt16(32), cityHash64(tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id) FROM placements FINAL
    UNION ALL SELECT tenant, session_id, incarnation, stream_seq, toUInt16(64), cityHash64(tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id) FROM replacements FINAL
    UNION ALL SELECT tenant, session_id, incarnation, stream_seq, toUInt16(128), cityHash64(tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id) FROM redactions FINAL
    UNION ALL SELECT tenant, session_id, incarnation, stream_seq, toUInt16(256), cityHash64(tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id) FROM missing FINAL
    UNION ALL SELECT tenant, session_id, incarnation, stream_seq, toUInt16(512), cityHash64(tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id) FROM calls FINAL
    UNION ALL SELECT tenant, session_id, incarnation, stream_seq, toUInt16(1024), cityHash64(tenant, agent, resource_id, runtime_id, session_id, thread_id, turn_id, task_id, run_id, attempt_id, step_id, tool_call_id, action_id, evidence_id, context_id, parent_run_id, root_run_id) FROM log_items FINAL
)
GROUP BY incarnation, stream_seq
HAVING NOT bitTest(found, 0) OR min(ids) != max(ids)
SETTINGS do_not_merge_across_partitions_select_final = 1, max_bytes_before_external_group_by = 268435456;

-- check_sequence_gaps: sequences that a source used and of which nothing is known:
-- neither recorded, nor in quarantine, nor declared as dropped. A stretch a row.
--   tenant, source, session_id, first_missing, last_missing (sequences, both
--   included), missing (count), problem
CREATE OR REPLACE VIEW check_sequence_gaps AS
WITH
used AS
(
    SELECT tenant, toString(source) AS source, session_id, toUInt64(assumeNotNull(sequence)) AS number, number AS last FROM recorded_events WHERE sequence >= 0
    UNION ALL
    SELECT tenant, d.1, session_id, toUInt64(greatest(r[1], 0)), toUInt64(greatest(r[2], 0))
    FROM
    (
        SELECT tenant, session_id, arrayJoin(JSONExtract(data, 'sequences', 'Array(Tuple(source String, ranges Array(Array(Int64))))')) AS d
        FROM recorded_events WHERE event_type = 'context.facts.dropped'
    )
    ARRAY JOIN d.2 AS r
    WHERE length(r) = 2
    UNION ALL
    SELECT
        if(binary, JSONExtractString(header, 'ce-tenant', 1), JSONExtractString(data, 'tenant')) AS tenant, source,
        if(binary, JSONExtractString(header, 'ce-sessionid', 1), JSONExtractString(data, 'sessionid')) AS session_id,
        toUInt64OrZero(if(JSONHas(header, 'ce-id') AS binary, JSONExtractString(header, 'ce-sequence', 1), JSONExtractString(data, 'sequence'))) AS number, number
    FROM refused_events WHERE source != '' AND number > 0
),
stretches AS
(
    SELECT tenant, source, session_id, number AS first,
        max(last) OVER (PARTITION BY tenant, source, session_id ORDER BY number, last ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached,
        row_number() OVER (PARTITION BY tenant, source, session_id ORDER BY number, last) AS place
    FROM used
)
SELECT tenant, source, session_id, reached + 1 AS first_missing, first - 1 AS last_missing, toUInt64(first - reached - 1) AS missing,
    'facts of these sequences are neither recorded nor refused nor declared as dropped' AS problem
FROM stretches WHERE place > 1 AND first > reached + 1;

-- check_unsealed_scopes: sessions that a source which seals its scopes left without
-- an envelope, a day before the ledger's newest fact or earlier.
--   tenant, source, session_id, last_fact_at (UTC, when the stream stored it), facts, problem
CREATE OR REPLACE VIEW check_unsealed_scopes AS
SELECT tenant, source, session_id, max(recorded_at) AS last_fact_at, count() AS facts,
    'the session has no envelope although its source seals others, and is quiet for a day' AS problem
FROM recorded_events
WHERE session_id != '' AND (tenant, source) IN (SELECT tenant, source FROM recorded_events WHERE event_type = 'context.envelope.created')
GROUP BY tenant, source, session_id
HAVING countIf(event_type = 'context.envelope.created') = 0 AND last_fact_at < (SELECT max(recorded_at) FROM events) - toIntervalDay(1);

-- check_reasoning_reinjected: assemblies and injections that replay reasoning of an
-- earlier turn as content, and not in a block of the layer reasoning.
--   tenant, session_id, turn_id, call_id, record_id (assembly or injection), item_ref,
--   reasoning_turn_id (the turn that it was thought in), problem
CREATE OR REPLACE VIEW check_reasoning_reinjected AS
WITH
thoughts AS
(
    SELECT tenant, session_id, if(item_ref = '', log_item_id, item_ref) AS item_ref, turn_id FROM log_entries WHERE item_type = 'reasoning'
    UNION ALL
    SELECT tenant, session_id, item_id, turn_id FROM item_versions WHERE change = 'added' AND (context_kind = 'reasoning' OR layer = 'reasoning')
),
shown AS
(
    SELECT tenant, session_id, turn_id, call_id, assembly_id AS record_id, arrayJoin(b.2) AS item_ref
    FROM assemblies ARRAY JOIN arrayZip(block_layers, block_items) AS b WHERE b.1 != 'reasoning'
    UNION ALL
    SELECT tenant, session_id, turn_id, call_id, injection_id, arrayJoin(item_refs) FROM injections WHERE change = 'applied' AND assembly_id = ''
)
SELECT DISTINCT s.tenant AS tenant, s.session_id AS session_id, s.turn_id AS turn_id, s.call_id AS call_id, s.record_id AS record_id,
    s.item_ref AS item_ref, t.turn_id AS reasoning_turn_id, 'reasoning of an earlier turn is replayed as content' AS problem
FROM shown AS s INNER JOIN thoughts AS t ON t.tenant = s.tenant AND t.session_id = s.session_id AND t.item_ref = s.item_ref
WHERE t.turn_id != s.turn_id AND t.turn_id != '';

-- check_compaction_dropped_open_gap: completed compactions that a gap was open at
-- and that do not carry it on: neither among what they put back or kept, nor in
-- their loss notes, nor among the open questions of their summary.
--   tenant, session_id, thread_id, turn_id, compaction_id, missing_id, question, problem
CREATE OR REPLACE VIEW check_compaction_dropped_open_gap AS
WITH carried AS
(
    SELECT c.tenant AS tenant, c.session_id AS session_id, c.thread_id AS thread_id, c.turn_id AS turn_id, c.compaction_id AS compaction_id,
        (c.recorded_at, c.stream_seq) AS at, arrayConcat(c.reinjected_refs, c.retained_tail_refs, c.loss_notes, s.open_questions) AS kept
    FROM (SELECT * FROM compactions WHERE change = 'completed') AS c
    LEFT JOIN (SELECT tenant, session_id, summary_id, arrayFlatten(groupArray(open_questions)) AS open_questions FROM summaries GROUP BY tenant, session_id, summary_id) AS s
        ON s.tenant = c.tenant AND s.session_id = c.session_id AND s.summary_id = c.summary_ref
),
open AS
(
    SELECT tenant, missing_id, argMin(session_id, (recorded_at, stream_seq)) AS session_id, argMin(thread_id, (recorded_at, stream_seq)) AS thread_id,
        argMaxIf(question, (recorded_at, stream_seq), question != '') AS question, min((recorded_at, stream_seq)) AS since,
        minIf((recorded_at, stream_seq), status IN ('resolved', 'declined', 'expired')) AS until, countIf(status IN ('resolved', 'declined', 'expired')) AS ends
    FROM gap_steps GROUP BY tenant, missing_id
)
SELECT c.tenant AS tenant, c.session_id AS session_id, c.thread_id AS thread_id, c.turn_id AS turn_id, c.compaction_id AS compaction_id,
    g.missing_id AS missing_id, g.question AS question, 'the compaction does not carry on a gap that was open' AS problem
FROM carried AS c INNER JOIN open AS g ON g.tenant = c.tenant AND g.session_id = c.session_id AND g.thread_id = c.thread_id
WHERE g.since < c.at AND (g.ends = 0 OR g.until > c.at)
    AND NOT arrayExists(k -> k = g.missing_id OR position(k, g.missing_id) > 0 OR g.question != '' AND k = g.question, c.kept);
