-- One row a committed range of a stream. It is inserted after all other rows of its
-- batch: only what it covers is projected.
CREATE TABLE IF NOT EXISTS commits
(
    incarnation UUID,
    first_seq UInt64,
    last_seq UInt64,
    messages UInt64,
    digest FixedString(32),
    rows Map(LowCardinality(String), UInt64),
    epoch UInt64,
    projection_version UInt32,
    recorded_at DateTime64(9, 'UTC'),
    tree_size UInt64,
    tree_root FixedString(32),
    tree_frontier String,
    -- A projector that does not know version 4 of the rules cannot commit.
    writer_rules UInt32,
    CONSTRAINT written_by_rules_4 CHECK writer_rules >= 4
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(recorded_at)
ORDER BY (incarnation, first_seq, last_seq)
SETTINGS
    non_replicated_deduplication_window = 10000,
    auto_statistics_types = '';
