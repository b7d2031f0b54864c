CREATE TABLE IF NOT EXISTS cluster_shards
(
    revision UInt64,
    cluster String,
    own UInt32,
    version String,
    shards Nested (number UInt32, host String, port UInt16)
)
ENGINE = MergeTree
ORDER BY revision
COMMENT 'the shards of the cluster that this database is one of; the newest revision counts'
