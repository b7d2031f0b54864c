-- Sequences that a source used and of which nothing is known: neither recorded, nor
-- refused, nor erased, nor declared as dropped.
--
-- One row a stretch of sequences. Sequences are listed only where they are not one
-- stretch. A refused event counts for the tenant of its subject.
--
-- Needs: events, refused_events.
--
--   tenant         String  id
--   source         String  id
--   session_id     String  id
--   first_missing  UInt64  sequence
--   last_missing   Int64   sequence
--   missing        UInt64  count
--   problem        String  text
CREATE OR REPLACE VIEW check_sequence_gaps_of AS
WITH
declared AS
(
    SELECT
        tenant,
        arrayJoin(
            if(
                event_type = 'context.facts.dropped',
                arrayFlatten(
                    arrayMap(
                        d -> arrayMap(
                            r -> (d.1, session_id, toUInt64(greatest(r[1], 0)), toUInt64(greatest(r[2], 0))),
                            arrayFilter(r -> length(r) = 2, d.2)),
                        JSONExtract(declaration, 'sequences', 'Array(Tuple(source String, ranges Array(Array(Int64))))')
                    )),
                arrayMap(
                    r -> (r.1, r.2, toUInt64(assumeNotNull(r.3)), toUInt64(assumeNotNull(r.3))),
                    arrayFilter(
                        r -> ifNull(r.3, -1) >= 0,
                        JSONExtract(
                            declaration, 'records',
                            'Array(Tuple(source String, session_id String, source_sequence Nullable(Int64)))'))))) AS d
    FROM
    (
        SELECT toString(tenant) AS tenant, session_id, event_type, declaration
        FROM events
        WHERE declaration != '' AND {of_tenant}
    )
),
refused AS
(
    SELECT
        tenant, source,
        if(binary, JSONExtractString(header, 'ce-sessionid', 1), JSONExtractString(data, 'sessionid')) AS session_id,
        toUInt64OrZero(
            if(
                JSONHas(header, 'ce-id') AS binary, JSONExtractString(header, 'ce-sequence', 1),
                JSONExtractString(data, 'sequence'))) AS number
    FROM refused_events
    WHERE source != '' AND number > 0 AND {of_tenant}
),
recorded AS
(
    SELECT
        toString(tenant) AS tenant, toString(named) AS source, session_id,
        arrayJoin(
            if(
                bitmapCardinality(sequences) = bitmapMax(sequences) - bitmapMin(sequences) + 1,
                [(bitmapMin(sequences), bitmapMax(sequences))],
                arrayZip(
                    arrayFilter(
                        (n, step) -> step != 1, arraySort(bitmapToArray(sequences)) AS numbers,
                        arrayDifference(numbers) AS steps) AS firsts,
                    arrayPushBack(
                        arrayPopFront(
                            arrayMap((n, step) -> toUInt64(n - step), firsts, arrayFilter(step -> step != 1, steps))),
                        numbers[-1])))) AS stretch
    FROM
    (
        SELECT
            tenant, session_id, any(source) AS named, groupBitmapState(toUInt64(assumeNotNull(sequence))) AS sequences
        FROM events
        WHERE sequence >= 0 AND {of_tenant}
        GROUP BY tenant, session_id, cityHash64(source)
    )
),
used AS
(
    SELECT if(tenant = '', 'default', tenant) AS whose, source, session_id, stretch.1 AS number, stretch.2 AS last
    FROM recorded
    UNION ALL
    SELECT if(tenant = '', 'default', tenant), source, session_id, number, number
    FROM refused
    UNION ALL
    SELECT if(tenant = '', 'default', tenant), d.1, d.2, d.3, d.4
    FROM declared
),
stretches AS
(
    SELECT
        whose, source, session_id, number AS first,
        max(last) OVER (
            PARTITION BY whose, source, session_id
            ORDER BY number, last
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached,
        row_number() OVER (PARTITION BY whose, source, session_id ORDER BY number, last) AS place
    FROM used
)
SELECT
    whose AS tenant, source, session_id, reached + 1 AS first_missing, first - 1 AS last_missing,
    toUInt64(first - reached - 1) AS missing,
    'facts of these sequences are neither recorded nor refused nor erased nor declared as dropped' AS problem
FROM stretches
WHERE place > 1 AND first > reached + 1;
