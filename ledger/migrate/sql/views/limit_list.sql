-- One row a model and the limits that are known for it: told ones, and the built-in list unless it is off.
--
-- Needs: built_in_models, limits, prices.
--
--   model              String            text    a model's name, * for any characters
--   max_input_tokens   Nullable(UInt32)  tokens
--   max_output_tokens  Nullable(UInt32)  tokens
--   source             String            text    where the limits were read
--   built_in           UInt8             flag
CREATE OR REPLACE VIEW limit_list AS
SELECT model, max_input_tokens, max_output_tokens, source, toUInt8(0) AS built_in
FROM limits FINAL
UNION ALL
SELECT
    pattern, toNullable(max_input_tokens), toNullable(max_output_tokens), concat('built-in list of ', listed_on),
    toUInt8(1)
FROM built_in_models
ARRAY JOIN [model, concat(model, '-20*')] AS pattern
WHERE (SELECT count() FROM prices FINAL WHERE prices.bucket = 'built_in') = 0;
