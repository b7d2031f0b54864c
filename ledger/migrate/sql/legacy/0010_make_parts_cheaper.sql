-- A part of less than 128 MB is one file of all columns and not two files a column. Parts are merged
-- when there are ten of about one size.
ALTER TABLE events MODIFY SETTING min_bytes_for_wide_part = 134217728, merge_selector_base = 10;
ALTER TABLE scopes MODIFY SETTING min_bytes_for_wide_part = 134217728, merge_selector_base = 10;
ALTER TABLE items MODIFY SETTING min_bytes_for_wide_part = 134217728, merge_selector_base = 10;
ALTER TABLE decisions MODIFY SETTING min_bytes_for_wide_part = 134217728, merge_selector_base = 10;
ALTER TABLE windows MODIFY SETTING min_bytes_for_wide_part = 134217728, merge_selector_base = 10;
ALTER TABLE placements MODIFY SETTING min_bytes_for_wide_part = 134217728, merge_selector_base = 10;
ALTER TABLE replacements MODIFY SETTING min_bytes_for_wide_part = 134217728, merge_selector_base = 10;
ALTER TABLE redactions MODIFY SETTING min_bytes_for_wide_part = 134217728, merge_selector_base = 10;
ALTER TABLE missing MODIFY SETTING min_bytes_for_wide_part = 134217728, merge_selector_base = 10;
ALTER TABLE calls MODIFY SETTING min_bytes_for_wide_part = 134217728, merge_selector_base = 10;
ALTER TABLE log_items MODIFY SETTING min_bytes_for_wide_part = 134217728, merge_selector_base = 10;
ALTER TABLE quarantine MODIFY SETTING min_bytes_for_wide_part = 134217728, merge_selector_base = 10;
ALTER TABLE duplicates MODIFY SETTING min_bytes_for_wide_part = 134217728, merge_selector_base = 10;
ALTER TABLE replays MODIFY SETTING min_bytes_for_wide_part = 134217728, merge_selector_base = 10;
