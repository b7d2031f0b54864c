-- Which changes were applied, by their numbers. Rows of a repeated run collapse.
CREATE TABLE IF NOT EXISTS migrations
(
    version UInt32,
    name String
)
ENGINE = ReplacingMergeTree
ORDER BY version
SETTINGS
    auto_statistics_types = '';
