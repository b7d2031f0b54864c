-- Which migrations were applied. Rows of a repeated run collapse.
CREATE TABLE IF NOT EXISTS migrations
(
    version UInt32,
    name String
)
ENGINE = ReplacingMergeTree
ORDER BY version;
