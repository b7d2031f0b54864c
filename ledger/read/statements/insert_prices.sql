INSERT INTO prices (model, bucket, currency, valid_from, valid_until, per_million, source, version, removed)
