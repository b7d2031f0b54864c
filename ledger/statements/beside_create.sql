CREATE TABLE IF NOT EXISTS {beside:Identifier}.events AS events;
CREATE TABLE IF NOT EXISTS {beside:Identifier}.scopes AS scopes;
CREATE TABLE IF NOT EXISTS {beside:Identifier}.items AS items;
CREATE TABLE IF NOT EXISTS {beside:Identifier}.decisions AS decisions;
CREATE TABLE IF NOT EXISTS {beside:Identifier}.windows AS windows;
CREATE TABLE IF NOT EXISTS {beside:Identifier}.placements AS placements;
CREATE TABLE IF NOT EXISTS {beside:Identifier}.replacements AS replacements;
CREATE TABLE IF NOT EXISTS {beside:Identifier}.redactions AS redactions;
CREATE TABLE IF NOT EXISTS {beside:Identifier}.missing AS missing;
CREATE TABLE IF NOT EXISTS {beside:Identifier}.calls AS calls;
CREATE TABLE IF NOT EXISTS {beside:Identifier}.log_items AS log_items;
CREATE TABLE IF NOT EXISTS {beside:Identifier}.quarantine AS quarantine;
CREATE TABLE IF NOT EXISTS {beside:Identifier}.duplicates AS duplicates;
CREATE TABLE IF NOT EXISTS {beside:Identifier}.replays AS replays;
CREATE TABLE IF NOT EXISTS {beside:Identifier}.log_hashes AS log_hashes;
CREATE TABLE IF NOT EXISTS {beside:Identifier}.commits AS commits;
-- How far the set has come.
CREATE TABLE IF NOT EXISTS {beside:Identifier}.rebuild_state
(
    state LowCardinality(String),
    ids Map(String, UUID),
    migrations UInt64,
    at DateTime64(6, 'UTC')
)
ENGINE = MergeTree ORDER BY at;
