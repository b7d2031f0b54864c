-- One row a price that may hold for a model which was called.
--
-- precedence 1 has the longest pattern, and among equals the youngest price. The built-in list counts
-- only for models without a told price.
--
-- Needs: calls, price_list.
--
--   model        LowCardinality(String)          text
--   bucket       LowCardinality(String)          text
--   per_million  Float64                         currency/Mtok
--   currency     LowCardinality(String)          text
--   valid_from   DateTime64(9, 'UTC')            time
--   valid_until  Nullable(DateTime64(9, 'UTC'))  time
--   pattern      String                          text
--   source       String                          text  where the price was read
--   precedence   UInt64                          count
--   built_in     UInt8                           flag
CREATE OR REPLACE VIEW model_prices AS
WITH
fitting AS
(
    SELECT
        m.model AS model, p.bucket AS bucket, p.per_million AS per_million, p.currency AS currency,
        p.valid_from AS valid_from, p.valid_until AS valid_until, p.model AS pattern, p.source AS source,
        p.built_in AS built_in, min(p.built_in) OVER (PARTITION BY m.model) AS untold,
        row_number() OVER (
            PARTITION BY m.model, p.bucket, p.built_in
            ORDER BY length(replaceAll(p.model, '*', '')) DESC, p.model, p.valid_from DESC, p.currency) AS precedence
    FROM (SELECT DISTINCT toString(model) AS model FROM calls) AS m
    CROSS JOIN price_list AS p
    WHERE m.model LIKE replaceAll(
        replaceAll(replaceAll(replaceAll(p.model, '\\', '\\\\'), '%', '\\%'), '_', '\\_'), '*', '%')
)
SELECT model, bucket, per_million, currency, valid_from, valid_until, pattern, source, precedence, built_in
FROM fitting
WHERE built_in = untold;
