-- Parts and reads of items, markers of log entries, layers' own counts, notes and reasons of elisions, and goals.
-- Each column has its place, so that databases are equal whether change 0093 came before or after.
ALTER TABLE items
    ADD COLUMN IF NOT EXISTS reads String AFTER metadata,
    ADD COLUMN IF NOT EXISTS parts String AFTER reads;
ALTER TABLE log_items
    ADD COLUMN IF NOT EXISTS markers Array(LowCardinality(String)) AFTER metadata;
ALTER TABLE replacements
    ADD COLUMN IF NOT EXISTS elided_notes Array(String) AFTER metadata,
    ADD COLUMN IF NOT EXISTS elided_stub_digests Array(String) AFTER elided_notes,
    ADD COLUMN IF NOT EXISTS elided_reasons Array(String) AFTER elided_stub_digests,
    ADD COLUMN IF NOT EXISTS goal_refs Array(String) AFTER elided_reasons;
ALTER TABLE windows
    ADD COLUMN IF NOT EXISTS segment_reported Array(Nullable(Int64)) AFTER metadata,
    ADD COLUMN IF NOT EXISTS segment_reported_by Array(LowCardinality(String)) AFTER segment_reported;
