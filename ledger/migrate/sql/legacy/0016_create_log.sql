-- The transparency log: what a leaf is made of, and the tree at each commit.
ALTER TABLE events
    ADD COLUMN IF NOT EXISTS salt FixedString(16) CODEC(NONE),
    ADD COLUMN IF NOT EXISTS type_attribute LowCardinality(String);
ALTER TABLE commits
    ADD COLUMN IF NOT EXISTS tree_size UInt64,
    ADD COLUMN IF NOT EXISTS tree_root FixedString(32),
    ADD COLUMN IF NOT EXISTS tree_frontier String;
