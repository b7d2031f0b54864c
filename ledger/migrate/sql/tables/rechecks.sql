-- How far the passes of the re-check have come. A pass looks for one set of fingerprints
-- in the events of a tenant, in the order of their key. (session_id, incarnation,
-- stream_seq) is the last event that it has read. The row with the most events counts.
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
ORDER BY (tenant, fingerprints, pass)
SETTINGS
    auto_statistics_types = '';
