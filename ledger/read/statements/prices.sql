SELECT model, bucket, per_million, currency, valid_from, valid_until, source
FROM price_list
WHERE NOT built_in
ORDER BY model, bucket, currency, valid_from
