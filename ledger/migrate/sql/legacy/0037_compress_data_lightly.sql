-- The data of events at the level of all other columns. Parts that are there keep theirs until a merge.
ALTER TABLE events MODIFY COLUMN data String CODEC(ZSTD(1));
