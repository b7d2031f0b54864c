SELECT count()
FROM raw
