-- One row a model that was called and whose limits are known.
--
-- A told limit comes before the built-in list, then the longest pattern that fits.
--
-- Needs: calls, limit_list.
--
--   model              LowCardinality(String)  text
--   max_input_tokens   Nullable(UInt32)        tokens
--   max_output_tokens  Nullable(UInt32)        tokens
--   pattern            String                  text
--   source             String                  text  where the limits were read
CREATE OR REPLACE VIEW model_limits AS
SELECT
    m.model AS model, l.max_input_tokens AS max_input_tokens, l.max_output_tokens AS max_output_tokens,
    l.model AS pattern, l.source AS source
FROM (SELECT DISTINCT toString(model) AS model FROM calls) AS m
CROSS JOIN limit_list AS l
WHERE m.model LIKE replaceAll(
    replaceAll(replaceAll(replaceAll(l.model, '\\', '\\\\'), '%', '\\%'), '_', '\\_'), '*', '%')
ORDER BY m.model, l.built_in, length(replaceAll(l.model, '*', '')) DESC, l.model
LIMIT 1 BY m.model;
