-- Sources by id, selector and authority; what surfaces offer, to whom and until when; how assemblies are wrapped.
ALTER TABLE items
    ADD COLUMN IF NOT EXISTS source_ids Array(String),
    ADD COLUMN IF NOT EXISTS source_selectors Array(String),
    ADD COLUMN IF NOT EXISTS source_authorities Array(String);
ALTER TABLE decisions
    ADD COLUMN IF NOT EXISTS available_source_refs Array(String),
    ADD COLUMN IF NOT EXISTS capability_refs Array(String),
    ADD COLUMN IF NOT EXISTS visibility Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS expires_at Nullable(DateTime64(9, 'UTC'));
ALTER TABLE placements
    ADD COLUMN IF NOT EXISTS wrapping_policy String,
    ADD COLUMN IF NOT EXISTS separator_policy String,
    ADD COLUMN IF NOT EXISTS visibility Array(LowCardinality(String));
