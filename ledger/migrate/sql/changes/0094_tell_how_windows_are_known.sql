-- How a window is known, how much of the call it covers, and which blocks of a base it keeps.
ALTER TABLE placements
    ADD COLUMN IF NOT EXISTS base_assembly_id String AFTER extra,
    ADD COLUMN IF NOT EXISTS keep Nullable(Int64) AFTER base_assembly_id,
    ADD COLUMN IF NOT EXISTS block_equalities Array(String) AFTER keep,
    ADD COLUMN IF NOT EXISTS fidelity LowCardinality(String) AFTER block_equalities,
    ADD COLUMN IF NOT EXISTS coverage LowCardinality(String) AFTER fidelity,
    ADD COLUMN IF NOT EXISTS coverage_reasons Array(LowCardinality(String)) AFTER coverage;
ALTER TABLE calls
    ADD COLUMN IF NOT EXISTS provider_message_id String AFTER answered_model,
    ADD COLUMN IF NOT EXISTS fidelity LowCardinality(String) AFTER provider_message_id,
    ADD COLUMN IF NOT EXISTS coverage LowCardinality(String) AFTER fidelity,
    ADD COLUMN IF NOT EXISTS coverage_reasons Array(LowCardinality(String)) AFTER coverage;
