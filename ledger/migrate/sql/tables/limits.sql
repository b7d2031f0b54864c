-- How many tokens models take and give, as `ctxledger prices import` was told. This is
-- configuration and no fact: a rebuild leaves it alone, and all tenants share it. The
-- newest version of a row counts, and one that says removed takes it away.
CREATE TABLE IF NOT EXISTS limits
(
    model String,
    max_input_tokens Nullable(UInt32),
    max_output_tokens Nullable(UInt32),
    source String,
    version UInt64,
    removed UInt8
)
ENGINE = ReplacingMergeTree(version, removed)
ORDER BY model
SETTINGS
    auto_statistics_types = '';
