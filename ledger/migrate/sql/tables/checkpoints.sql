-- Signed tree heads of the transparency log.
CREATE TABLE IF NOT EXISTS checkpoints
(
    incarnation UUID,
    tree_size UInt64,
    root_hash FixedString(32),
    note String,
    recorded_at DateTime64(9, 'UTC')
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(recorded_at)
ORDER BY (incarnation, tree_size)
SETTINGS
    non_replicated_deduplication_window = 10000,
    auto_statistics_types = '';
