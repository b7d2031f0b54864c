-- What a host says of runs, grants, resources, scratchpads, items, budgets and calls beyond their sizes. What few rows
-- have is one column of JSON, since each column costs every insert.
ALTER TABLE scopes
    ADD COLUMN IF NOT EXISTS pressure_policy String,
    ADD COLUMN IF NOT EXISTS context_write Nullable(Bool),
    ADD COLUMN IF NOT EXISTS basis Array(String),
    ADD COLUMN IF NOT EXISTS policy_refs Array(String),
    ADD COLUMN IF NOT EXISTS config_keys Array(String),
    ADD COLUMN IF NOT EXISTS config_digest String,
    ADD COLUMN IF NOT EXISTS outcome String,
    ADD COLUMN IF NOT EXISTS item_refs Array(String);
ALTER TABLE items
    ADD COLUMN IF NOT EXISTS pinned Bool,
    ADD COLUMN IF NOT EXISTS essential Bool,
    ADD COLUMN IF NOT EXISTS extra String;
ALTER TABLE decisions
    ADD COLUMN IF NOT EXISTS extra String;
ALTER TABLE placements
    ADD COLUMN IF NOT EXISTS extra String;
ALTER TABLE windows
    ADD COLUMN IF NOT EXISTS pressure_policy String,
    ADD COLUMN IF NOT EXISTS summary_ref String;
ALTER TABLE calls
    ADD COLUMN IF NOT EXISTS tags Array(String),
    ADD COLUMN IF NOT EXISTS answered_model String;
