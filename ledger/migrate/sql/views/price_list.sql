-- One row a price: those that `ctxledger prices import` was told, and the built-in list unless it is off.
--
-- A row of prices whose bucket is built_in switches the built-in list off.
--
-- Needs: built_in_models, prices.
--
--   model        String                          text  a model's name, * for any characters
--   bucket       LowCardinality(String)          text
--   per_million  Float64                         currency/Mtok
--   currency     LowCardinality(String)          text
--   valid_from   DateTime64(9, 'UTC')            time
--   valid_until  Nullable(DateTime64(9, 'UTC'))  time
--   source       String                          text  where the price was read
--   built_in     UInt8                           flag
CREATE OR REPLACE VIEW price_list AS
SELECT
    model, toString(bucket) AS bucket, per_million, toString(currency) AS currency, valid_from, valid_until, source,
    toUInt8(0) AS built_in
FROM prices FINAL
WHERE prices.bucket != 'built_in'
UNION ALL
SELECT
    pattern, toLowCardinality(priced.1), priced.2, toLowCardinality('USD'), toDateTime64(0, 9, 'UTC'),
    CAST(NULL, 'Nullable(DateTime64(9, \'UTC\'))'), concat('built-in list of ', listed_on), toUInt8(1)
FROM built_in_models
ARRAY JOIN [model, concat(model, '-20*')] AS pattern
ARRAY JOIN arrayConcat(
    [
        ('input', input), ('cache_read', cache_read), ('cache_write', cache_write), ('cache_write_1h', cache_write_1h),
        ('output', output)],
    arrayMap(
        p -> (concat(p.1, '_above_', toString(intDiv(step, 1000)), 'k'), p.2),
        [
            ('input', above[1]), ('cache_read', above[2]), ('cache_write', above[3]), ('cache_write_1h', above[4]),
            ('output', above[5])])) AS priced
WHERE priced.2 > 0 AND (SELECT count() FROM prices FINAL WHERE prices.bucket = 'built_in') = 0;
