-- What tokens cost, as `ctxledger prices import` was told. This is configuration and no
-- fact: a rebuild leaves it alone, and all tenants share it. The newest version of a row
-- counts, and one that says removed takes it away. A row with the bucket built_in switches
-- the built-in list off.
CREATE TABLE IF NOT EXISTS prices
(
    model String,
    bucket LowCardinality(String),
    currency LowCardinality(String),
    valid_from DateTime64(9, 'UTC'),
    valid_until Nullable(DateTime64(9, 'UTC')),
    per_million Float64,
    source String,
    version UInt64,
    removed UInt8
)
ENGINE = ReplacingMergeTree(version, removed)
ORDER BY (model, bucket, currency, valid_from)
SETTINGS
    auto_statistics_types = '';
