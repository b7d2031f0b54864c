-- How far the set has come.
CREATE TABLE IF NOT EXISTS {rebuilt:Identifier}.rebuild_state
(
    state LowCardinality(String),
    ids Map(String, UUID),
    migrations UInt64,
    at DateTime64(6, 'UTC')
)
ENGINE = MergeTree ORDER BY at
