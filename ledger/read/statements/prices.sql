SELECT model, bucket, per_million, currency, valid_from, valid_until, source
FROM price_list
ORDER BY model, bucket, currency, valid_from
