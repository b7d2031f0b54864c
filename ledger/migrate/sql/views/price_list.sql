-- One row a price that `ctxledger prices import` was told.
--
-- Needs: prices.
--
--   model        String                          text  a model's name, * for any characters
--   bucket       LowCardinality(String)          text
--   per_million  Float64                         currency/Mtok
--   currency     LowCardinality(String)          text
--   valid_from   DateTime64(9, 'UTC')            time
--   valid_until  Nullable(DateTime64(9, 'UTC'))  time
--   source       String                          text  where the price was read
CREATE OR REPLACE VIEW price_list AS
SELECT model, toString(bucket) AS bucket, per_million, toString(currency) AS currency, valid_from, valid_until, source
FROM prices FINAL;
