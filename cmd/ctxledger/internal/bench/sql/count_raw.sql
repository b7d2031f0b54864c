SELECT count() FROM raw
