-- What a batch costs the server, beside its rows, are the streams that each part has:
-- parts of one file write and compress every stream of a column by itself, and merges
-- read and write them again. Texts have one, not one for lengths and one for letters;
-- a column has one mark a granule, not one a stream; and columns that are mostly empty
-- are written like others. Parts that are there already change when they are merged.
--
-- Parts are merged when there are sixteen of about one size, and not ten: rows are
-- written again a fifth less often, and a look at one session reads a tenth more.
ALTER TABLE events MODIFY SETTING string_serialization_version = 'single_stream', write_marks_for_substreams_in_compact_parts = 0, ratio_of_defaults_for_sparse_serialization = 1, merge_selector_base = 16;
ALTER TABLE scopes MODIFY SETTING string_serialization_version = 'single_stream', write_marks_for_substreams_in_compact_parts = 0, ratio_of_defaults_for_sparse_serialization = 1, merge_selector_base = 16;
ALTER TABLE items MODIFY SETTING string_serialization_version = 'single_stream', write_marks_for_substreams_in_compact_parts = 0, ratio_of_defaults_for_sparse_serialization = 1, merge_selector_base = 16;
ALTER TABLE decisions MODIFY SETTING string_serialization_version = 'single_stream', write_marks_for_substreams_in_compact_parts = 0, ratio_of_defaults_for_sparse_serialization = 1, merge_selector_base = 16;
ALTER TABLE windows MODIFY SETTING string_serialization_version = 'single_stream', write_marks_for_substreams_in_compact_parts = 0, ratio_of_defaults_for_sparse_serialization = 1, merge_selector_base = 16;
ALTER TABLE placements MODIFY SETTING string_serialization_version = 'single_stream', write_marks_for_substreams_in_compact_parts = 0, ratio_of_defaults_for_sparse_serialization = 1, merge_selector_base = 16;
ALTER TABLE replacements MODIFY SETTING string_serialization_version = 'single_stream', write_marks_for_substreams_in_compact_parts = 0, ratio_of_defaults_for_sparse_serialization = 1, merge_selector_base = 16;
ALTER TABLE redactions MODIFY SETTING string_serialization_version = 'single_stream', write_marks_for_substreams_in_compact_parts = 0, ratio_of_defaults_for_sparse_serialization = 1, merge_selector_base = 16;
ALTER TABLE missing MODIFY SETTING string_serialization_version = 'single_stream', write_marks_for_substreams_in_compact_parts = 0, ratio_of_defaults_for_sparse_serialization = 1, merge_selector_base = 16;
ALTER TABLE calls MODIFY SETTING string_serialization_version = 'single_stream', write_marks_for_substreams_in_compact_parts = 0, ratio_of_defaults_for_sparse_serialization = 1, merge_selector_base = 16;
ALTER TABLE log_items MODIFY SETTING string_serialization_version = 'single_stream', write_marks_for_substreams_in_compact_parts = 0, ratio_of_defaults_for_sparse_serialization = 1, merge_selector_base = 16;
ALTER TABLE quarantine MODIFY SETTING string_serialization_version = 'single_stream', write_marks_for_substreams_in_compact_parts = 0, ratio_of_defaults_for_sparse_serialization = 1, merge_selector_base = 16;
ALTER TABLE duplicates MODIFY SETTING string_serialization_version = 'single_stream', write_marks_for_substreams_in_compact_parts = 0, ratio_of_defaults_for_sparse_serialization = 1, merge_selector_base = 16;
ALTER TABLE replays MODIFY SETTING string_serialization_version = 'single_stream', write_marks_for_substreams_in_compact_parts = 0, ratio_of_defaults_for_sparse_serialization = 1, merge_selector_base = 16;
ALTER TABLE log_hashes MODIFY SETTING string_serialization_version = 'single_stream', write_marks_for_substreams_in_compact_parts = 0, ratio_of_defaults_for_sparse_serialization = 1, merge_selector_base = 16;
