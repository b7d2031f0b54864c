-- A part has one stream a text, one mark a granule, and no sparse columns. Parts are merged when
-- there are sixteen of about one size. Parts that are there change when they are merged.
ALTER TABLE events MODIFY SETTING
    string_serialization_version = 'single_stream',
    write_marks_for_substreams_in_compact_parts = 0,
    ratio_of_defaults_for_sparse_serialization = 1,
    merge_selector_base = 16;
ALTER TABLE scopes MODIFY SETTING
    string_serialization_version = 'single_stream',
    write_marks_for_substreams_in_compact_parts = 0,
    ratio_of_defaults_for_sparse_serialization = 1,
    merge_selector_base = 16;
ALTER TABLE items MODIFY SETTING
    string_serialization_version = 'single_stream',
    write_marks_for_substreams_in_compact_parts = 0,
    ratio_of_defaults_for_sparse_serialization = 1,
    merge_selector_base = 16;
ALTER TABLE decisions MODIFY SETTING
    string_serialization_version = 'single_stream',
    write_marks_for_substreams_in_compact_parts = 0,
    ratio_of_defaults_for_sparse_serialization = 1,
    merge_selector_base = 16;
ALTER TABLE windows MODIFY SETTING
    string_serialization_version = 'single_stream',
    write_marks_for_substreams_in_compact_parts = 0,
    ratio_of_defaults_for_sparse_serialization = 1,
    merge_selector_base = 16;
ALTER TABLE placements MODIFY SETTING
    string_serialization_version = 'single_stream',
    write_marks_for_substreams_in_compact_parts = 0,
    ratio_of_defaults_for_sparse_serialization = 1,
    merge_selector_base = 16;
ALTER TABLE replacements MODIFY SETTING
    string_serialization_version = 'single_stream',
    write_marks_for_substreams_in_compact_parts = 0,
    ratio_of_defaults_for_sparse_serialization = 1,
    merge_selector_base = 16;
ALTER TABLE redactions MODIFY SETTING
    string_serialization_version = 'single_stream',
    write_marks_for_substreams_in_compact_parts = 0,
    ratio_of_defaults_for_sparse_serialization = 1,
    merge_selector_base = 16;
ALTER TABLE missing MODIFY SETTING
    string_serialization_version = 'single_stream',
    write_marks_for_substreams_in_compact_parts = 0,
    ratio_of_defaults_for_sparse_serialization = 1,
    merge_selector_base = 16;
ALTER TABLE calls MODIFY SETTING
    string_serialization_version = 'single_stream',
    write_marks_for_substreams_in_compact_parts = 0,
    ratio_of_defaults_for_sparse_serialization = 1,
    merge_selector_base = 16;
ALTER TABLE log_items MODIFY SETTING
    string_serialization_version = 'single_stream',
    write_marks_for_substreams_in_compact_parts = 0,
    ratio_of_defaults_for_sparse_serialization = 1,
    merge_selector_base = 16;
ALTER TABLE quarantine MODIFY SETTING
    string_serialization_version = 'single_stream',
    write_marks_for_substreams_in_compact_parts = 0,
    ratio_of_defaults_for_sparse_serialization = 1,
    merge_selector_base = 16;
ALTER TABLE duplicates MODIFY SETTING
    string_serialization_version = 'single_stream',
    write_marks_for_substreams_in_compact_parts = 0,
    ratio_of_defaults_for_sparse_serialization = 1,
    merge_selector_base = 16;
ALTER TABLE replays MODIFY SETTING
    string_serialization_version = 'single_stream',
    write_marks_for_substreams_in_compact_parts = 0,
    ratio_of_defaults_for_sparse_serialization = 1,
    merge_selector_base = 16;
ALTER TABLE log_hashes MODIFY SETTING
    string_serialization_version = 'single_stream',
    write_marks_for_substreams_in_compact_parts = 0,
    ratio_of_defaults_for_sparse_serialization = 1,
    merge_selector_base = 16;
