CREATE TABLE raw (message String)
ENGINE = MergeTree
ORDER BY tuple()
SETTINGS default_compression_codec = 'ZSTD(1)', auto_statistics_types = ''
