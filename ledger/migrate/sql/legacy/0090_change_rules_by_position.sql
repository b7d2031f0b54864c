-- Rules of the projection hold from a position on.
ALTER TABLE events ADD COLUMN IF NOT EXISTS tenant_absent Bool;
ALTER TABLE log_hashes ADD COLUMN IF NOT EXISTS tenant LowCardinality(String);
ALTER TABLE commits ADD COLUMN IF NOT EXISTS writer_rules UInt32;
ALTER TABLE commits ADD CONSTRAINT IF NOT EXISTS written_by_rules_4 CHECK writer_rules >= 4;
