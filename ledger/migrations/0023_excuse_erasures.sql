-- check_sequence_gaps: one row a stretch of sequences of which nothing is known. What
-- was erased is known: the fact of an erasure names the sequences of its records.
CREATE OR REPLACE VIEW check_sequence_gaps AS
WITH
erased AS
(
    SELECT tenant, r.1 AS source, r.2 AS session_id, toUInt64(assumeNotNull(r.3)) AS number
    FROM
    (
        SELECT toString(tenant) AS tenant, arrayJoin(JSONExtract(data, 'records', 'Array(Tuple(source String, session_id String, source_sequence Nullable(Int64)))')) AS r
        FROM events FINAL PREWHERE event_type = 'context.erasure.applied'
    )
    WHERE r.3 >= 0
),
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
    SELECT tenant, session_id FROM events WHERE event_type = 'context.facts.dropped'
    UNION ALL
    SELECT tenant, session_id FROM refused
    UNION ALL
    SELECT tenant, session_id FROM erased
),
used AS
(
    SELECT toString(tenant) AS tenant, toString(source) AS source, session_id, toUInt64(assumeNotNull(sequence)) AS number, number AS last
    FROM recorded_events
    WHERE (tenant, session_id) IN (suspects) AND sequence >= 0
    UNION ALL
    SELECT tenant, source, session_id, number, last FROM refused
    UNION ALL
    SELECT tenant, d.1, session_id, toUInt64(greatest(r[1], 0)), toUInt64(greatest(r[2], 0))
    FROM
    (
        SELECT tenant, session_id, arrayJoin(JSONExtract(data, 'sequences', 'Array(Tuple(source String, ranges Array(Array(Int64))))')) AS d
        FROM events FINAL PREWHERE event_type = 'context.facts.dropped'
    )
    ARRAY JOIN d.2 AS r
    WHERE length(r) = 2
    UNION ALL
    SELECT tenant, source, session_id, number, number FROM erased
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
