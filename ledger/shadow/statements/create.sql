CREATE TABLE IF NOT EXISTS {rebuilt:Identifier}.events AS events;
CREATE TABLE IF NOT EXISTS {rebuilt:Identifier}.scopes AS scopes;
CREATE TABLE IF NOT EXISTS {rebuilt:Identifier}.items AS items;
CREATE TABLE IF NOT EXISTS {rebuilt:Identifier}.decisions AS decisions;
CREATE TABLE IF NOT EXISTS {rebuilt:Identifier}.windows AS windows;
CREATE TABLE IF NOT EXISTS {rebuilt:Identifier}.placements AS placements;
CREATE TABLE IF NOT EXISTS {rebuilt:Identifier}.replacements AS replacements;
CREATE TABLE IF NOT EXISTS {rebuilt:Identifier}.redactions AS redactions;
CREATE TABLE IF NOT EXISTS {rebuilt:Identifier}.missing AS missing;
CREATE TABLE IF NOT EXISTS {rebuilt:Identifier}.calls AS calls;
CREATE TABLE IF NOT EXISTS {rebuilt:Identifier}.log_items AS log_items;
CREATE TABLE IF NOT EXISTS {rebuilt:Identifier}.quarantine AS quarantine;
CREATE TABLE IF NOT EXISTS {rebuilt:Identifier}.duplicates AS duplicates;
CREATE TABLE IF NOT EXISTS {rebuilt:Identifier}.replays AS replays;
CREATE TABLE IF NOT EXISTS {rebuilt:Identifier}.log_hashes AS log_hashes;
CREATE TABLE IF NOT EXISTS {rebuilt:Identifier}.commits AS commits;
CREATE TABLE IF NOT EXISTS {rebuilt:Identifier}.retold AS retold;
-- How far the set has come.
CREATE TABLE IF NOT EXISTS {rebuilt:Identifier}.rebuild_state
(
    state LowCardinality(String),
    ids Map(String, UUID),
    migrations UInt64,
    at DateTime64(6, 'UTC')
)
ENGINE = MergeTree ORDER BY at;
