-- Rules of the projection hold from a position on. Rows that were made by
-- SubjectRules (4) have the tenant of the NATS subject.

-- The event itself had no tenant: its record, and so its leaf, has none.
ALTER TABLE events ADD COLUMN IF NOT EXISTS tenant_absent Bool;

-- Whose leaf it is, also when the event was erased; '' before SubjectRules.
ALTER TABLE log_hashes ADD COLUMN IF NOT EXISTS tenant LowCardinality(String);

-- A projector that does not know the newest rules cannot commit.
ALTER TABLE commits ADD COLUMN IF NOT EXISTS writer_rules UInt32;
ALTER TABLE commits ADD CONSTRAINT IF NOT EXISTS written_by_rules_4 CHECK writer_rules >= 4;

-- The standing checks of the tenant "default" include older rows, which have no
-- tenant. A refused event counts for the tenant of its subject.

-- check_conservation_of: selections that do not add up. Where the sums of a selection's facts do, there is nothing to look for.
CREATE OR REPLACE VIEW check_conservation_of AS
WITH
suspects AS
(
    SELECT tenant, session_id, record_id AS selection_id
    FROM
    (
        SELECT tenant, session_id, record_id, record_kind = 'selection_completed' AS completed, parts, length(item_refs) AS items, items_hash,
            length(candidate_refs) AS considered, candidates_hash, contradicts
        FROM decisions
        WHERE record_kind IN ('selection_started', 'selection_completed') AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    )
    GROUP BY tenant, session_id, selection_id
    HAVING countIf(completed) > 0
        AND (countIf(completed) > 1 OR max(ifNull(parts, 1)) > 1 OR max(contradicts)
            OR minIf(considered, considered > 0) != maxIf(considered, considered > 0) OR minIf(candidates_hash, considered > 0) != maxIf(candidates_hash, considered > 0)
            OR max(considered) > 0 AND (max(considered) != max(items) OR maxIf(candidates_hash, considered > 0) != maxIf(items_hash, completed)))
),
decided AS
(
    SELECT tenant, session_id, selection_id, any(turn_id) AS turn_id, any(call_id) AS call_id,
        arrayDistinct(arrayFlatten(groupArray(candidate_refs))) AS considered,
        arrayDistinct(arrayFlatten(groupArrayIf(arrayFilter((i, o) -> o = 'selected', item_refs, outcomes), change = 'completed'))) AS chosen,
        arrayDistinct(arrayFlatten(groupArrayIf(arrayFilter((i, o) -> o = 'omitted', item_refs, outcomes), change = 'completed'))) AS left_out,
        arrayDistinct(arrayFlatten(groupArrayIf(arrayFilter((i, o, r) -> o = 'omitted' AND r = '', item_refs, outcomes, reasons), change = 'completed'))) AS unexplained,
        countIf(change = 'completed') AS completed, uniqExactIf(part, change = 'completed' AND parts > 1) AS parts_seen, maxIf(parts, change = 'completed') AS parts_said
    FROM selections WHERE (tenant, session_id, selection_id) IN (suspects) GROUP BY tenant, session_id, selection_id
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

-- check_injected_without_assembly_of: injections whose assembly is not there. A row that is stored twice makes no difference to whether one is.
CREATE OR REPLACE VIEW check_injected_without_assembly_of AS
WITH unassembled AS
(
    SELECT tenant, session_id, assembly_id
    FROM placements WHERE record_kind IN ('assembly', 'injection') AND assembly_id != '' AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    GROUP BY tenant, session_id, assembly_id
    HAVING countIf(record_kind = 'assembly') = 0
)
SELECT tenant, session_id, turn_id, call_id, injection_id, assembly_id, 'the injection names an assembly that is not recorded' AS problem
FROM injections
WHERE change = 'applied' AND (tenant, session_id, assembly_id) IN (unassembled);

-- check_redaction_reintroduced_of: what shows a redacted item as it was.
CREATE OR REPLACE VIEW check_redaction_reintroduced_of AS
WITH
withheld AS
(
    SELECT tenant, session_id, target_ref, argMin(record_id, (recorded_at, stream_seq)) AS redaction_id, min((recorded_at, stream_seq)) AS since
    FROM redactions FINAL WHERE redaction_state IN ('removed', 'policy_blocked') AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))) GROUP BY tenant, session_id, target_ref
),
concerned AS (SELECT tenant, session_id FROM redactions WHERE redaction_state IN ('removed', 'policy_blocked') AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))),
shown AS
(
    SELECT tenant, session_id, turn_id, assembly_id AS record_id, (recorded_at, stream_seq) AS at, arrayJoin(b.2) AS item_ref,
        'an assembly holds the redacted item as not redacted' AS problem
    FROM placements FINAL ARRAY JOIN arrayZip(block_redactions, block_items) AS b
    WHERE (tenant, session_id) IN (concerned) AND record_kind = 'assembly' AND b.1 IN ('', 'none') AND redaction_state IN ('', 'none')
    UNION ALL
    SELECT tenant, session_id, turn_id, item_id, (recorded_at, stream_seq), item_id, 'a later version of the item is not redacted'
    FROM items FINAL WHERE (tenant, session_id) IN (concerned) AND change != 'removed' AND redaction_state IN ('', 'none')
    UNION ALL
    SELECT tenant, session_id, turn_id, record_id, (recorded_at, stream_seq), arrayJoin(item_refs), 'an injection shows the redacted item as not redacted'
    FROM placements FINAL
    WHERE (tenant, session_id) IN (concerned) AND record_kind = 'injection' AND redaction_state IN ('', 'none') AND assembly_id = ''
)
SELECT s.tenant AS tenant, s.session_id AS session_id, s.turn_id AS turn_id, s.item_ref AS item_ref, w.redaction_id AS redaction_id,
    s.record_id AS record_id, s.problem AS problem
FROM shown AS s INNER JOIN withheld AS w ON w.tenant = s.tenant AND w.session_id = s.session_id AND w.target_ref = s.item_ref
WHERE s.at > w.since
UNION ALL
SELECT tenant, session_id, turn_id, '', redaction_id, record_id,
    concat('the ', event_type, ' at sequence ', toString(stream_seq), ' of stream ', toString(incarnation), ' holds a value that ', policy_ref, ' withholds')
FROM reintroductions FINAL
WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))) AND (incarnation, stream_seq) IN (SELECT incarnation, stream_seq FROM events WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))) AND stream_seq IN (SELECT stream_seq FROM reintroductions))
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- check_lost_runtime_ids_of: rows that do not carry the ids of their event. A type of fact has as many rows in each
-- of its tables as it has events, and the sums of their hashes say whether one differs:
-- first of a tenant, then of its sessions, then row by row.
CREATE OR REPLACE VIEW check_lost_runtime_ids_of AS
WITH
stored AS
(
    SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(1) AS place, correlation_hash FROM events WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    UNION ALL SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(2), correlation_hash FROM scopes WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    UNION ALL SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(4), correlation_hash FROM items WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    UNION ALL SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(8), correlation_hash FROM decisions WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    UNION ALL SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(16), correlation_hash FROM windows WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    UNION ALL SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(32), correlation_hash FROM placements WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    UNION ALL SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(64), correlation_hash FROM replacements WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    UNION ALL SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(128), correlation_hash FROM redactions WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    UNION ALL SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(256), correlation_hash FROM missing WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    UNION ALL SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(512), correlation_hash FROM calls WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    UNION ALL SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(1024), correlation_hash FROM log_items WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
),
doubtful AS
(
    SELECT any(tenant) AS of FROM stored
    GROUP BY cityHash64(tenant), cityHash64(event_type)
    HAVING countIf(place != 1) > 0
        AND (countIf(place = 1) = 0 OR countIf(place != 1) % countIf(place = 1) != 0
            OR sumIf(correlation_hash, place != 1) != sumIf(correlation_hash, place = 1) * intDiv(countIf(place != 1), countIf(place = 1)))
),
suspects AS
(
    SELECT tenant, session_id FROM stored WHERE tenant IN (doubtful)
    GROUP BY tenant, session_id, event_type
    HAVING countIf(place != 1) > 0
        AND (countIf(place = 1) = 0 OR countIf(place != 1) % countIf(place = 1) != 0
            OR sumIf(correlation_hash, place != 1) != sumIf(correlation_hash, place = 1) * intDiv(countIf(place != 1), countIf(place = 1)))
)
SELECT tenant, session_id, incarnation, stream_seq,
    arrayStringConcat(arrayFilter((name, bit) -> bit > 0 AND bitTest(places, bit),
        ['events', 'scopes', 'items', 'decisions', 'windows', 'placements', 'replacements', 'redactions', 'missing', 'calls', 'log_items'],
        range(11)), ', ') AS table_name,
    if(bitTest(places, 0), 'the row has other correlation ids than its event', 'the row has no event') AS problem
FROM
(
    SELECT tenant, session_id, incarnation, stream_seq, groupBitOr(place) AS places, min(correlation_hash) AS least, max(correlation_hash) AS most
    FROM stored WHERE (tenant, session_id) IN (suspects)
    GROUP BY tenant, session_id, incarnation, stream_seq
)
WHERE NOT bitTest(places, 0) OR least != most;

-- check_sequence_gaps_of: one row a stretch of sequences of which nothing is known. Sequences are listed only
-- where they are not one stretch.
CREATE OR REPLACE VIEW check_sequence_gaps_of AS
WITH
declared AS
(
    SELECT tenant, arrayJoin(if(event_type = 'context.facts.dropped',
        arrayFlatten(arrayMap(d -> arrayMap(r -> (d.1, session_id, toUInt64(greatest(r[1], 0)), toUInt64(greatest(r[2], 0))), arrayFilter(r -> length(r) = 2, d.2)),
            JSONExtract(declaration, 'sequences', 'Array(Tuple(source String, ranges Array(Array(Int64))))'))),
        arrayMap(r -> (r.1, r.2, toUInt64(assumeNotNull(r.3)), toUInt64(assumeNotNull(r.3))), arrayFilter(r -> ifNull(r.3, -1) >= 0,
            JSONExtract(declaration, 'records', 'Array(Tuple(source String, session_id String, source_sequence Nullable(Int64)))'))))) AS d
    FROM (SELECT toString(tenant) AS tenant, session_id, event_type, declaration FROM events WHERE declaration != '' AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))))
),
refused AS
(
    SELECT tenant, source,
        if(binary, JSONExtractString(header, 'ce-sessionid', 1), JSONExtractString(data, 'sessionid')) AS session_id,
        toUInt64OrZero(if(JSONHas(header, 'ce-id') AS binary, JSONExtractString(header, 'ce-sequence', 1), JSONExtractString(data, 'sequence'))) AS number
    FROM refused_events WHERE source != '' AND number > 0 AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
),
recorded AS
(
    SELECT toString(tenant) AS tenant, toString(named) AS source, session_id,
        arrayJoin(if(bitmapCardinality(sequences) = bitmapMax(sequences) - bitmapMin(sequences) + 1, [(bitmapMin(sequences), bitmapMax(sequences))],
            arrayZip(arrayFilter((n, step) -> step != 1, arraySort(bitmapToArray(sequences)) AS numbers, arrayDifference(numbers) AS steps) AS firsts,
                arrayPushBack(arrayPopFront(arrayMap((n, step) -> toUInt64(n - step), firsts, arrayFilter(step -> step != 1, steps))), numbers[-1])))) AS stretch
    FROM
    (
        SELECT tenant, session_id, any(source) AS named, groupBitmapState(toUInt64(assumeNotNull(sequence))) AS sequences
        FROM events WHERE sequence >= 0 AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
        GROUP BY tenant, session_id, cityHash64(source)
    )
),
used AS
(
    SELECT if(tenant = '', 'default', tenant) AS whose, source, session_id, stretch.1 AS number, stretch.2 AS last FROM recorded
    UNION ALL
    SELECT if(tenant = '', 'default', tenant), source, session_id, number, number FROM refused
    UNION ALL
    SELECT if(tenant = '', 'default', tenant), d.1, d.2, d.3, d.4 FROM declared
),
stretches AS
(
    SELECT whose, source, session_id, number AS first,
        max(last) OVER (PARTITION BY whose, source, session_id ORDER BY number, last ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached,
        row_number() OVER (PARTITION BY whose, source, session_id ORDER BY number, last) AS place
    FROM used
)
SELECT whose AS tenant, source, session_id, reached + 1 AS first_missing, first - 1 AS last_missing, toUInt64(first - reached - 1) AS missing,
    'facts of these sequences are neither recorded nor refused nor erased nor declared as dropped' AS problem
FROM stretches WHERE place > 1 AND first > reached + 1;

-- check_unsealed_scopes_of: one row a session and source without an envelope, of a source that seals others.
CREATE OR REPLACE VIEW check_unsealed_scopes_of AS
WITH
sealed AS (SELECT tenant, session_id, source FROM scopes WHERE record_kind = 'envelope' AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))),
unsealed AS
(
    SELECT tenant, session_id, any(source) AS named
    FROM events WHERE session_id != '' AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    GROUP BY tenant, session_id, cityHash64(source)
    HAVING (tenant, session_id, named) NOT IN (sealed) AND (tenant, named) IN (SELECT tenant, source FROM sealed)
)
SELECT tenant, source, session_id, max(recorded_at) AS last_fact_at, count() AS facts,
    'the session has no envelope although its source seals others, and is quiet for a day' AS problem
FROM events FINAL
WHERE (tenant, session_id, source) IN (unsealed)
GROUP BY tenant, source, session_id
HAVING last_fact_at < (SELECT recorded_at FROM ledger_head) - toIntervalDay(1)
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- check_reasoning_reinjected_of: reasoning of an earlier turn that is shown again, as something else.
CREATE OR REPLACE VIEW check_reasoning_reinjected_of AS
WITH
thoughts AS
(
    SELECT tenant, session_id, if(item_ref = '', log_item_id, item_ref) AS item_ref, turn_id FROM log_items WHERE item_type = 'reasoning' AND turn_id != '' AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    UNION ALL
    SELECT tenant, session_id, item_id, turn_id FROM items WHERE change = 'added' AND (context_kind = 'reasoning' OR layer = 'reasoning') AND turn_id != '' AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
),
shown AS
(
    SELECT tenant, session_id, turn_id, call_id, assembly_id AS record_id, arrayJoin(arrayFlatten(arrayFilter((i, l) -> l != 'reasoning', block_items, block_layers))) AS item_ref
    FROM placements WHERE record_kind = 'assembly' AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
    UNION ALL
    SELECT tenant, session_id, turn_id, call_id, record_id, arrayJoin(item_refs) FROM placements WHERE record_kind = 'injection' AND assembly_id = '' AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))
)
SELECT DISTINCT s.tenant AS tenant, s.session_id AS session_id, s.turn_id AS turn_id, s.call_id AS call_id, s.record_id AS record_id,
    s.item_ref AS item_ref, t.turn_id AS reasoning_turn_id, 'reasoning of an earlier turn is replayed as content' AS problem
FROM shown AS s INNER JOIN thoughts AS t ON t.tenant = s.tenant AND t.session_id = s.session_id AND t.item_ref = s.item_ref
WHERE t.turn_id != s.turn_id;

-- check_compaction_dropped_open_gap_of: gaps that were open when a compaction did not carry them on.
CREATE OR REPLACE VIEW check_compaction_dropped_open_gap_of AS
WITH carried AS
(
    SELECT c.tenant AS tenant, c.session_id AS session_id, c.thread_id AS thread_id, c.turn_id AS turn_id, c.compaction_id AS compaction_id,
        (c.event_time, ifNull(c.sequence, 0)) AS at, arrayConcat(c.reinjected_refs, c.retained_tail_refs, c.loss_notes, s.open_questions) AS kept
    FROM (SELECT * FROM compactions WHERE change = 'completed' AND ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))) AS c
    LEFT JOIN (SELECT tenant, session_id, summary_id, arrayFlatten(groupArray(open_questions)) AS open_questions FROM summaries WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String}))) GROUP BY tenant, session_id, summary_id) AS s
        ON s.tenant = c.tenant AND s.session_id = c.session_id AND s.summary_id = c.summary_ref
),
open AS
(
    SELECT tenant, missing_id, argMin(session_id, (at, event_id)) AS session_id, argMin(thread_id, (at, event_id)) AS thread_id,
        argMaxIf(question, (at, event_id), question != '') AS question, min(at) AS since,
        minIf(at, status IN ('resolved', 'declined', 'expired')) AS until, countIf(status IN ('resolved', 'declined', 'expired')) AS ends
    FROM (SELECT *, (event_time, ifNull(sequence, 0)) AS at FROM gap_steps WHERE ({tenant:String} = '' OR tenant IN ({tenant:String}, if({tenant:String} = 'default', '', {tenant:String})))) GROUP BY tenant, missing_id
)
SELECT c.tenant AS tenant, c.session_id AS session_id, c.thread_id AS thread_id, c.turn_id AS turn_id, c.compaction_id AS compaction_id,
    g.missing_id AS missing_id, g.question AS question, 'the compaction does not carry on a gap that was open' AS problem
FROM carried AS c INNER JOIN open AS g ON g.tenant = c.tenant AND g.session_id = c.session_id AND g.thread_id = c.thread_id
WHERE g.since < c.at AND (g.ends = 0 OR g.until > c.at)
    AND NOT arrayExists(k -> k = g.missing_id OR position(k, g.missing_id) > 0 OR g.question != '' AND k = g.question, c.kept);
