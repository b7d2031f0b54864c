-- Which prices are known, and from which source?
-- Section: What did the cache cost?
--
-- `ctxledger prices import` adds prices. The longest pattern that matches a model applies, then the newest
-- price. The built-in list applies to a model without an imported price; `ctxledger prices built-in off`
-- switches it off.
--
-- Parameters:
--   model  String  text  = ''  only prices for this model; '' means all models
-- Columns:
--   model        text           name of a model; * matches any characters
--   bucket       text           input, cache_read, cache_write_5m, cache_write_1h, cache_write, output or reasoning
--   per_million  currency/Mtok  price of a million tokens
--   currency     text           ISO 4217 code
--   valid_from   time           start of validity; 1970 means from the beginning
--   valid_until  time           end of validity, not included; NULL for no end
--   source       text           source of the price
SELECT model, bucket, per_million, currency, valid_from, valid_until, source
FROM price_list
WHERE {model:String} = ''
    OR {model:String} LIKE replaceAll(
        replaceAll(replaceAll(replaceAll(model, '\\', '\\\\'), '%', '\\%'), '_', '\\_'), '*', '%')
ORDER BY model, bucket, currency, valid_from
