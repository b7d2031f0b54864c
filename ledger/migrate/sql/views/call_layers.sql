-- One row a model call and layer of its window, as three facts have it, side by side.
--
-- What is billed has no layers.
--
-- Needs: assemblies, budgets, layer_usage.
--
--   tenant           LowCardinality(String)  id
--   session_id       String                  id
--   attempt_id       String                  id
--   call_id          String                  id
--   layer            String                  text
--   usage_tokens     Nullable(Int64)         tokens
--   assembly_tokens  Nullable(Int64)         tokens
--   budget_tokens    Nullable(Int64)         tokens
CREATE OR REPLACE VIEW call_layers AS
WITH
said AS
(
    SELECT
        tenant, session_id, attempt_id, call_id, toString(layer) AS layer, tokens AS usage_tokens,
        CAST(NULL, 'Nullable(Int64)') AS assembly_tokens, CAST(NULL, 'Nullable(Int64)') AS budget_tokens
    FROM layer_usage
    UNION ALL
    SELECT tenant, session_id, attempt_id, call_id, toString(b.1), NULL, b.2, NULL
    FROM
    (
        SELECT
            tenant, session_id, attempt_id, call_id, block_layers, block_tokens, coverage_reasons,
            assembly_id = argMax(assembly_id, thread_order) OVER call AS latest
        FROM assemblies
        WHERE call_id != ''
        WINDOW call AS (PARTITION BY tenant, session_id, attempt_id, call_id)
    )
    ARRAY JOIN arrayZip(block_layers, block_tokens) AS b
    WHERE latest AND NOT has(coverage_reasons, 'base_missing')
    UNION ALL
    SELECT tenant, session_id, attempt_id, call_id, toString(s.1), NULL, NULL, s.2
    FROM
    (
        SELECT
            tenant, session_id, attempt_id, call_id, segment_layers, segment_tokens,
            budget_id = argMax(budget_id, thread_order) OVER call AS latest
        FROM budgets
        WHERE call_id != ''
        WINDOW call AS (PARTITION BY tenant, session_id, attempt_id, call_id)
    )
    ARRAY JOIN arrayZip(segment_layers, segment_tokens) AS s
    WHERE latest
)
SELECT
    tenant, session_id, attempt_id, call_id, layer, sum(s.usage_tokens) AS usage_tokens,
    sum(s.assembly_tokens) AS assembly_tokens, sum(s.budget_tokens) AS budget_tokens
FROM said AS s
GROUP BY tenant, session_id, attempt_id, call_id, layer;
