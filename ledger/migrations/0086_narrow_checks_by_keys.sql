-- Three checks that read everything, made to read less again, and so that a filter on
-- tenant or session reaches every table: it passes a join by its keys, and no IN. Sources
-- are grouped by their hashes, which are reckoned once for each of a block.

-- check_injected_without_assembly: placements are read once and without merging for
-- what has injections and no assembly; a row that is stored twice makes no difference.
CREATE OR REPLACE VIEW check_injected_without_assembly AS
WITH
unassembled AS
(
    SELECT tenant, session_id, digest
    FROM
    (
        SELECT tenant, session_id, cityHash64(if(record_kind = 'assembly', record_id, assembly_id)) AS digest, record_kind
        FROM placements WHERE record_kind = 'assembly' OR record_kind = 'injection' AND assembly_id != ''
    )
    GROUP BY tenant, session_id, digest
    HAVING countIf(record_kind = 'assembly') = 0
)
SELECT i.tenant AS tenant, i.session_id AS session_id, turn_id, call_id, injection_id, assembly_id, 'the injection names an assembly that is not recorded' AS problem
FROM (SELECT tenant, session_id, turn_id, call_id, injection_id, assembly_id, cityHash64(assembly_id) AS digest FROM injections WHERE change = 'applied' AND assembly_id != '') AS i
INNER JOIN unassembled AS u USING (tenant, session_id, digest);

-- check_unsealed_scopes: one row a session and source without an envelope, of a source
-- that seals others.
CREATE OR REPLACE VIEW check_unsealed_scopes AS
WITH
quiet AS
(
    SELECT tenant, session_id, any(source) AS named
    FROM events WHERE session_id != '' AND source IN (SELECT source FROM scopes WHERE record_kind = 'envelope')
    GROUP BY tenant, session_id, cityHash64(source)
    HAVING countIf(event_type = 'context.envelope.created') = 0 AND max(recorded_at) < (SELECT max(recorded_at) FROM events) - toIntervalDay(1)
        AND (tenant, named) IN (SELECT tenant, source FROM scopes WHERE record_kind = 'envelope')
)
SELECT e.tenant AS tenant, e.source AS source, e.session_id AS session_id, max(recorded_at) AS last_fact_at, count() AS facts,
    'the session has no envelope although its source seals others, and is quiet for a day' AS problem
FROM (SELECT tenant, source, session_id, recorded_at FROM events FINAL) AS e
INNER JOIN quiet AS q ON q.tenant = e.tenant AND q.session_id = e.session_id AND q.named = e.source
GROUP BY tenant, source, session_id
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- check_sequence_gaps: one row a stretch of sequences of which nothing is known. Numbers
-- are listed only where they are more than one stretch.
CREATE OR REPLACE VIEW check_sequence_gaps AS
WITH
recorded AS
(
    SELECT toString(tenant) AS tenant, toString(named) AS source, session_id,
        arrayJoin(if(bitmapCardinality(bitmap) = most - least + 1, [(least, most)],
            arrayZip(arrayFilter((n, p) -> n != p + 1, arraySort(bitmapToArray(bitmap)) AS numbers, arrayPushFront(arrayPopBack(numbers), numbers[1])),
                arrayFilter((n, p) -> n + 1 != p, numbers, arrayPushBack(arrayPopFront(numbers), numbers[-1]))))) AS stretch
    FROM
    (
        SELECT tenant, session_id, any(source) AS named, groupBitmapState(toUInt64(assumeNotNull(sequence))) AS bitmap,
            min(toUInt64(assumeNotNull(sequence))) AS least, max(toUInt64(assumeNotNull(sequence))) AS most
        FROM events WHERE sequence >= 0
        GROUP BY tenant, session_id, cityHash64(source)
    )
),
declared AS
(
    SELECT tenant, arrayJoin(if(event_type = 'context.facts.dropped',
        arrayFlatten(arrayMap(d -> arrayMap(r -> (d.1, session_id, toUInt64(greatest(r[1], 0)), toUInt64(greatest(r[2], 0))), arrayFilter(r -> length(r) = 2, d.2)),
            JSONExtract(data, 'sequences', 'Array(Tuple(source String, ranges Array(Array(Int64))))'))),
        arrayMap(r -> (r.1, r.2, toUInt64(assumeNotNull(r.3)), toUInt64(assumeNotNull(r.3))), arrayFilter(r -> ifNull(r.3, -1) >= 0,
            JSONExtract(data, 'records', 'Array(Tuple(source String, session_id String, source_sequence Nullable(Int64)))'))))) AS d
    FROM (SELECT toString(tenant) AS tenant, session_id, event_type, data FROM events PREWHERE event_type IN ('context.facts.dropped', 'context.erasure.applied'))
),
refused AS
(
    SELECT
        if(binary, JSONExtractString(header, 'ce-tenant', 1), JSONExtractString(data, 'tenant')) AS tenant, source,
        if(binary, JSONExtractString(header, 'ce-sessionid', 1), JSONExtractString(data, 'sessionid')) AS session_id,
        toUInt64OrZero(if(JSONHas(header, 'ce-id') AS binary, JSONExtractString(header, 'ce-sequence', 1), JSONExtractString(data, 'sequence'))) AS number
    FROM refused_events WHERE source != '' AND number > 0
),
used AS
(
    SELECT tenant, source, session_id, stretch.1 AS number, stretch.2 AS last FROM recorded
    UNION ALL
    SELECT tenant, source, session_id, number, number FROM refused
    UNION ALL
    SELECT tenant, d.1, d.2, d.3, d.4 FROM declared
),
stretches AS
(
    SELECT tenant, source, session_id, number AS first,
        max(last) OVER (PARTITION BY tenant, source, session_id ORDER BY number, last ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached,
        row_number() OVER (PARTITION BY tenant, source, session_id ORDER BY number, last) AS place
    FROM used
)
SELECT tenant, source, session_id, reached + 1 AS first_missing, first - 1 AS last_missing, toUInt64(first - reached - 1) AS missing,
    'facts of these sequences are neither recorded nor refused nor erased nor declared as dropped' AS problem
FROM stretches WHERE place > 1 AND first > reached + 1;
