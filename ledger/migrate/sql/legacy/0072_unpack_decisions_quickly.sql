-- LZ4 for the tables of lists. Parts that are there change when they are merged.
ALTER TABLE decisions MODIFY SETTING default_compression_codec = 'LZ4';
ALTER TABLE placements MODIFY SETTING default_compression_codec = 'LZ4';
ALTER TABLE replacements MODIFY SETTING default_compression_codec = 'LZ4';
