-- The checks that read everything, made to read less. Each first finds the sessions
-- in which it may find something, from few columns and without merging (a row that is
-- stored twice does not matter there), and then looks only at these.

-- check_redaction_reintroduced: within one session, for an item's id is of its
-- session; another session may have another item of that id.
CREATE OR REPLACE VIEW check_redaction_reintroduced AS
WITH
withheld AS
(
    SELECT tenant, session_id, target_ref, argMin(record_id, (recorded_at, stream_seq)) AS redaction_id, min((recorded_at, stream_seq)) AS since
    FROM redactions FINAL WHERE redaction_state IN ('removed', 'policy_blocked') GROUP BY tenant, session_id, target_ref
),
concerned AS (SELECT tenant, session_id FROM redactions WHERE redaction_state IN ('removed', 'policy_blocked')),
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
WHERE (incarnation, stream_seq) IN (SELECT incarnation, stream_seq FROM events WHERE stream_seq IN (SELECT stream_seq FROM reintroductions))
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- check_unsealed_scopes: one row a session and source without an envelope. The
-- tuples of the last two conditions hold an aggregate so that they are asked of a
-- session and not of each of its rows.
CREATE OR REPLACE VIEW check_unsealed_scopes AS
WITH
suspects AS
(
    SELECT tenant, session_id, source FROM events WHERE session_id != ''
    GROUP BY tenant, session_id, source
    HAVING max(recorded_at) < (SELECT max(recorded_at) FROM events) - toIntervalDay(1)
        AND (tenant, source, count() > 0) IN (SELECT tenant, source, true FROM scopes WHERE record_kind = 'envelope')
        AND (tenant, session_id, source, count() > 0) NOT IN (SELECT tenant, session_id, source, true FROM scopes WHERE record_kind = 'envelope')
)
SELECT tenant, source, session_id, max(recorded_at) AS last_fact_at, count() AS facts,
    'the session has no envelope although its source seals others, and is quiet for a day' AS problem
FROM events FINAL
WHERE (tenant, session_id, source) IN (suspects)
GROUP BY tenant, source, session_id
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- check_sequence_gaps: one row a stretch of sequences of which nothing is known. What
-- was declared as dropped stands in the data of events, which is read once.
CREATE OR REPLACE VIEW check_sequence_gaps AS
WITH
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
