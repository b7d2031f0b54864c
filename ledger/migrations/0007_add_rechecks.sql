-- What a re-check has found: events that hold a value which a redaction withholds,
-- recorded before that redaction was. A row names the place, the record and the
-- policy; it never holds the value, and a name that would is masked.
CREATE TABLE IF NOT EXISTS reintroductions
(
    incarnation UUID,
    stream_seq UInt64,
    recorded_at DateTime64(9, 'UTC'),
    tenant LowCardinality(String),
    session_id String,
    turn_id String,
    event_type LowCardinality(String),
    record_id String,
    redaction_id String,
    policy_ref String
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(recorded_at)
ORDER BY (tenant, session_id, incarnation, stream_seq, policy_ref)
SETTINGS default_compression_codec = 'ZSTD(1)';

-- How far the passes of the re-check have come. A pass looks for one set of
-- fingerprints, which fingerprints identifies, in the events of a tenant in the
-- order of their key, of which (session_id, incarnation, stream_seq) is the last
-- that it has read. The row with the most events counts.
CREATE TABLE IF NOT EXISTS rechecks
(
    tenant LowCardinality(String),
    fingerprints String,
    pass UInt64,
    session_id String,
    incarnation UUID,
    stream_seq UInt64,
    events UInt64,
    found UInt64,
    finished Bool
)
ENGINE = ReplacingMergeTree(events)
ORDER BY (tenant, fingerprints, pass);

-- check_redaction_reintroduced: blocks, items and injections that bring back, as not
-- redacted, an item that was redacted as removed or policy_blocked before; and
-- events in which `ctxledger project --recheck` found a withheld value itself.
--   tenant, session_id, turn_id, item_ref (empty for an event), redaction_id, record_id
--   (of the assembly, item version, injection or event), problem
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
WHERE s.at > w.since
UNION ALL
SELECT tenant, session_id, turn_id, '', redaction_id, record_id,
    concat('the ', event_type, ' at sequence ', toString(stream_seq), ' of stream ', toString(incarnation), ' holds a value that ', policy_ref, ' withholds')
FROM reintroductions FINAL
WHERE (incarnation, stream_seq) IN (SELECT incarnation, stream_seq FROM events WHERE stream_seq IN (SELECT stream_seq FROM reintroductions))
SETTINGS do_not_merge_across_partitions_select_final = 1;
