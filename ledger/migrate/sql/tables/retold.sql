-- One row a source of imported facts that another source tells better.
--
-- An import with other options, or by a later version, has a source of its own, whose name ends in
-- the telling. All tellings of a log have the ids of its records in common. One telling counts: the
-- one that reaches furthest in time, then that of the highest revision, then one with texts. The
-- facts of the others stay. Views of facts that an import makes leave them out. The projector brings
-- the rows of a session up to date before it commits facts of a telling.
--
-- A source that ends in # and the id of a call is one record of the call. Another slice of the log
-- tells that call under another id.
CREATE TABLE IF NOT EXISTS retold
(
    tenant LowCardinality(String),
    session_id String,
    source LowCardinality(String),
    -- First fact of a source that told it better.
    since DateTime64(9, 'UTC')
)
ENGINE = ReplacingMergeTree
ORDER BY (tenant, session_id, source)
SETTINGS
    auto_statistics_types = '';
