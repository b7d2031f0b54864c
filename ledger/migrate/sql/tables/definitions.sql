-- Which text of each file of ledger/migrate/sql the database has. The last row of a name counts.
CREATE TABLE IF NOT EXISTS definitions
(
    name String,
    digest String
)
ENGINE = ReplacingMergeTree
ORDER BY name
SETTINGS
    auto_statistics_types = '';
