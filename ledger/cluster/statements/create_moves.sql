CREATE TABLE IF NOT EXISTS cluster_moves
(
    revision UInt64,
    partition UInt32,
    source UInt32,
    target UInt32,
    closed Bool
)
ENGINE = MergeTree
ORDER BY revision
COMMENT 'moves of partitions from this shard; while the newest is closed, rows are on two shards or on none'
