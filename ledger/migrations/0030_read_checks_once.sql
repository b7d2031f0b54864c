-- The checks that read everything, made to read less again.

-- check_lost_runtime_ids: one row a stored position where a typed table does not
-- carry the ids of its event. The sums that find suspects need no merging: a row that
-- is stored twice can only make a suspect of its session.
CREATE OR REPLACE VIEW check_lost_runtime_ids AS
WITH
summed AS
(
    SELECT tenant, session_id, event_type, true AS recorded, count() AS n, sum(cityHash64(incarnation, stream_seq, correlation_hash)) AS hash FROM events GROUP BY tenant, session_id, event_type
    UNION ALL SELECT tenant, session_id, event_type, false, count(), sum(cityHash64(incarnation, stream_seq, correlation_hash)) FROM scopes GROUP BY tenant, session_id, event_type
    UNION ALL SELECT tenant, session_id, event_type, false, count(), sum(cityHash64(incarnation, stream_seq, correlation_hash)) FROM items GROUP BY tenant, session_id, event_type
    UNION ALL SELECT tenant, session_id, event_type, false, count(), sum(cityHash64(incarnation, stream_seq, correlation_hash)) FROM decisions GROUP BY tenant, session_id, event_type
    UNION ALL SELECT tenant, session_id, event_type, false, count(), sum(cityHash64(incarnation, stream_seq, correlation_hash)) FROM windows GROUP BY tenant, session_id, event_type
    UNION ALL SELECT tenant, session_id, event_type, false, count(), sum(cityHash64(incarnation, stream_seq, correlation_hash)) FROM placements GROUP BY tenant, session_id, event_type
    UNION ALL SELECT tenant, session_id, event_type, false, count(), sum(cityHash64(incarnation, stream_seq, correlation_hash)) FROM replacements GROUP BY tenant, session_id, event_type
    UNION ALL SELECT tenant, session_id, event_type, false, count(), sum(cityHash64(incarnation, stream_seq, correlation_hash)) FROM redactions GROUP BY tenant, session_id, event_type
    UNION ALL SELECT tenant, session_id, event_type, false, count(), sum(cityHash64(incarnation, stream_seq, correlation_hash)) FROM missing GROUP BY tenant, session_id, event_type
    UNION ALL SELECT tenant, session_id, event_type, false, count(), sum(cityHash64(incarnation, stream_seq, correlation_hash)) FROM calls GROUP BY tenant, session_id, event_type
    UNION ALL SELECT tenant, session_id, event_type, false, count(), sum(cityHash64(incarnation, stream_seq, correlation_hash)) FROM log_items GROUP BY tenant, session_id, event_type
),
suspects AS
(
    SELECT DISTINCT tenant, session_id
    FROM summed
    GROUP BY tenant, session_id, event_type
    HAVING sumIf(n, NOT recorded) > 0
        AND (sumIf(n, recorded) = 0 OR sumIf(n, NOT recorded) % sumIf(n, recorded) != 0
            OR sumIf(hash, NOT recorded) != sumIf(hash, recorded) * intDiv(sumIf(n, NOT recorded), sumIf(n, recorded)))
),
stored AS
(
    SELECT tenant, session_id, incarnation, stream_seq, toUInt16(1) AS place, correlation_hash FROM events
    UNION ALL SELECT tenant, session_id, incarnation, stream_seq, toUInt16(2), correlation_hash FROM scopes
    UNION ALL SELECT tenant, session_id, incarnation, stream_seq, toUInt16(4), correlation_hash FROM items
    UNION ALL SELECT tenant, session_id, incarnation, stream_seq, toUInt16(8), correlation_hash FROM decisions
    UNION ALL SELECT tenant, session_id, incarnation, stream_seq, toUInt16(16), correlation_hash FROM windows
    UNION ALL SELECT tenant, session_id, incarnation, stream_seq, toUInt16(32), correlation_hash FROM placements
    UNION ALL SELECT tenant, session_id, incarnation, stream_seq, toUInt16(64), correlation_hash FROM replacements
    UNION ALL SELECT tenant, session_id, incarnation, stream_seq, toUInt16(128), correlation_hash FROM redactions
    UNION ALL SELECT tenant, session_id, incarnation, stream_seq, toUInt16(256), correlation_hash FROM missing
    UNION ALL SELECT tenant, session_id, incarnation, stream_seq, toUInt16(512), correlation_hash FROM calls
    UNION ALL SELECT tenant, session_id, incarnation, stream_seq, toUInt16(1024), correlation_hash FROM log_items
)
SELECT tenant, session_id, incarnation, stream_seq,
    arrayStringConcat(arrayFilter((name, bit) -> bit > 0 AND bitTest(places, bit),
        ['events', 'scopes', 'items', 'decisions', 'windows', 'placements', 'replacements', 'redactions', 'missing', 'calls', 'log_items'],
        range(11)), ', ') AS table_name,
    if(bitTest(places, 0), 'the row has other correlation ids than its event', 'the row has no event') AS problem
FROM
(
    SELECT tenant, session_id, incarnation, stream_seq, groupBitOr(place) AS places, min(correlation_hash) AS least, max(correlation_hash) AS most
    FROM stored INNER JOIN suspects USING (tenant, session_id)
    GROUP BY tenant, session_id, incarnation, stream_seq
)
WHERE NOT bitTest(places, 0) OR least != most;

-- check_sequence_gaps: one row a stretch of sequences of which nothing is known. What
-- was declared as dropped or erased stands in the data of events, which is read once:
-- a scalar is, and a subquery is wherever it is named.
CREATE OR REPLACE VIEW check_sequence_gaps AS
WITH
(
    SELECT groupArrayArray(if(event_type = 'context.facts.dropped',
        arrayFlatten(arrayMap(d -> arrayMap(r -> (toString(tenant), d.1, session_id, toUInt64(greatest(r[1], 0)), toUInt64(greatest(r[2], 0))), arrayFilter(r -> length(r) = 2, d.2)),
            JSONExtract(data, 'sequences', 'Array(Tuple(source String, ranges Array(Array(Int64))))'))),
        arrayMap(r -> (toString(tenant), r.1, r.2, toUInt64(assumeNotNull(r.3)), toUInt64(assumeNotNull(r.3))), arrayFilter(r -> ifNull(r.3, -1) >= 0,
            JSONExtract(data, 'records', 'Array(Tuple(source String, session_id String, source_sequence Nullable(Int64)))')))))
    FROM events PREWHERE event_type IN ('context.facts.dropped', 'context.erasure.applied')
) AS declared,
refused AS
(
    SELECT
        if(binary, JSONExtractString(header, 'ce-tenant', 1), JSONExtractString(data, 'tenant')) AS tenant, source,
        if(binary, JSONExtractString(header, 'ce-sessionid', 1), JSONExtractString(data, 'sessionid')) AS session_id,
        toUInt64OrZero(if(JSONHas(header, 'ce-id') AS binary, JSONExtractString(header, 'ce-sequence', 1), JSONExtractString(data, 'sequence'))) AS number, number AS last
    FROM refused_events WHERE source != '' AND number > 0
),
suspects AS
(
    SELECT tenant, session_id
    FROM (SELECT tenant, session_id, source FROM events WHERE sequence >= 0 GROUP BY tenant, session_id, source
        HAVING groupBitmap(toUInt64(assumeNotNull(sequence))) != max(assumeNotNull(sequence)) - min(assumeNotNull(sequence)) + 1)
    UNION ALL
    SELECT tenant, session_id FROM refused
    UNION ALL
    SELECT d.1, d.3 FROM (SELECT arrayJoin(declared) AS d)
),
used AS
(
    SELECT toString(tenant) AS tenant, toString(source) AS source, session_id, toUInt64(assumeNotNull(sequence)) AS number, number AS last
    FROM recorded_events
    WHERE (tenant, session_id) IN (suspects) AND sequence >= 0
    UNION ALL
    SELECT tenant, source, session_id, number, last FROM refused
    UNION ALL
    SELECT d.1, d.2, d.3, d.4, d.5 FROM (SELECT arrayJoin(declared) AS d)
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
