-- Rows of the typed tables whose correlation ids are not those of their event, or whose
-- event is not there.
--
-- A type of fact has as many rows in each of its tables as it has events. The sums of
-- their hashes show whether one differs: first by tenant, then by session, then row by
-- row.
--
-- Needs: calls, decisions, events, items, log_items, missing, placements, redactions,
-- replacements, scopes, windows.
--
--   tenant       LowCardinality(String)  id
--   session_id   String                  id
--   incarnation  UUID                    id
--   stream_seq   UInt64                  sequence
--   table_name   String                  text
--   problem      String                  text
CREATE OR REPLACE VIEW check_lost_runtime_ids_of AS
WITH
stored AS
(
    SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(1) AS place, correlation_hash
    FROM events
    WHERE {of_tenant}
    UNION ALL
    SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(2), correlation_hash
    FROM scopes
    WHERE {of_tenant}
    UNION ALL
    SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(4), correlation_hash
    FROM items
    WHERE {of_tenant}
    UNION ALL
    SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(8), correlation_hash
    FROM decisions
    WHERE {of_tenant}
    UNION ALL
    SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(16), correlation_hash
    FROM windows
    WHERE {of_tenant}
    UNION ALL
    SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(32), correlation_hash
    FROM placements
    WHERE {of_tenant}
    UNION ALL
    SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(64), correlation_hash
    FROM replacements
    WHERE {of_tenant}
    UNION ALL
    SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(128), correlation_hash
    FROM redactions
    WHERE {of_tenant}
    UNION ALL
    SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(256), correlation_hash
    FROM missing
    WHERE {of_tenant}
    UNION ALL
    SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(512), correlation_hash
    FROM calls
    WHERE {of_tenant}
    UNION ALL
    SELECT tenant, session_id, event_type, incarnation, stream_seq, toUInt16(1024), correlation_hash
    FROM log_items
    WHERE {of_tenant}
),
doubtful AS
(
    SELECT any(tenant) AS of
    FROM stored
    GROUP BY cityHash64(tenant), cityHash64(event_type)
    HAVING countIf(place != 1) > 0
        AND (
            countIf(place = 1) = 0
                OR countIf(place != 1) % countIf(place = 1) != 0
                OR sumIf(correlation_hash, place != 1) != sumIf(correlation_hash, place = 1) * intDiv(
                    countIf(place != 1), countIf(place = 1)))
),
suspects AS
(
    SELECT tenant, session_id
    FROM stored
    WHERE tenant IN (doubtful)
    GROUP BY tenant, session_id, event_type
    HAVING countIf(place != 1) > 0
        AND (
            countIf(place = 1) = 0
                OR countIf(place != 1) % countIf(place = 1) != 0
                OR sumIf(correlation_hash, place != 1) != sumIf(correlation_hash, place = 1) * intDiv(
                    countIf(place != 1), countIf(place = 1)))
)
SELECT
    tenant, session_id, incarnation, stream_seq,
    arrayStringConcat(
        arrayFilter(
            (name, bit) -> bit > 0 AND bitTest(places, bit),
            [
                'events', 'scopes', 'items', 'decisions', 'windows', 'placements', 'replacements', 'redactions',
                'missing', 'calls', 'log_items'],
            range(11)),
        ', ') AS table_name,
    if(bitTest(places, 0), 'the row has other correlation ids than its event', 'the row has no event') AS problem
FROM
(
    SELECT
        tenant, session_id, incarnation, stream_seq, groupBitOr(place) AS places, min(correlation_hash) AS least,
        max(correlation_hash) AS most
    FROM stored
    WHERE (tenant, session_id) IN (suspects)
    GROUP BY tenant, session_id, incarnation, stream_seq
)
WHERE NOT bitTest(places, 0) OR least != most;
