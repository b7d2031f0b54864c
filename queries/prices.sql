-- Which prices are known, and from where?
-- Section: What did the cache cost?
--
-- `ctxledger prices import` tells them. The longest pattern that fits a model holds, then the youngest price.
--
-- Parameters:
--   model  String  text  = ''  only what holds for this model; '' is all
-- Columns:
--   model        text           a model's name; * stands for any characters
--   bucket       text           input, cache_read, cache_write_5m, cache_write_1h, cache_write, output or reasoning
--   per_million  currency/Mtok  price of a million tokens
--   currency     text           ISO 4217 code
--   valid_from   time           from when on; 1970 is from the beginning
--   valid_until  time           until when, not included; NULL for no end
--   source       text           where it was read
SELECT model, bucket, per_million, currency, valid_from, valid_until, source
FROM price_list
WHERE {model:String} = ''
    OR {model:String} LIKE replaceAll(
        replaceAll(replaceAll(replaceAll(model, '\\', '\\\\'), '%', '\\%'), '_', '\\_'), '*', '%')
ORDER BY model, bucket, currency, valid_from
