-- A session whose tenant is not known is found without reading the tables. Rows that are there
-- get the index in the background.
ALTER TABLE events ADD INDEX IF NOT EXISTS by_session session_id TYPE bloom_filter GRANULARITY 1;
ALTER TABLE scopes ADD INDEX IF NOT EXISTS by_session session_id TYPE bloom_filter GRANULARITY 1;
ALTER TABLE items ADD INDEX IF NOT EXISTS by_session session_id TYPE bloom_filter GRANULARITY 1;
ALTER TABLE decisions ADD INDEX IF NOT EXISTS by_session session_id TYPE bloom_filter GRANULARITY 1;
ALTER TABLE windows ADD INDEX IF NOT EXISTS by_session session_id TYPE bloom_filter GRANULARITY 1;
ALTER TABLE placements ADD INDEX IF NOT EXISTS by_session session_id TYPE bloom_filter GRANULARITY 1;
ALTER TABLE replacements ADD INDEX IF NOT EXISTS by_session session_id TYPE bloom_filter GRANULARITY 1;
ALTER TABLE redactions ADD INDEX IF NOT EXISTS by_session session_id TYPE bloom_filter GRANULARITY 1;
ALTER TABLE missing ADD INDEX IF NOT EXISTS by_session session_id TYPE bloom_filter GRANULARITY 1;
ALTER TABLE calls ADD INDEX IF NOT EXISTS by_session session_id TYPE bloom_filter GRANULARITY 1;
ALTER TABLE log_items ADD INDEX IF NOT EXISTS by_session session_id TYPE bloom_filter GRANULARITY 1;
ALTER TABLE events MATERIALIZE INDEX by_session SETTINGS mutations_sync = 0;
ALTER TABLE scopes MATERIALIZE INDEX by_session SETTINGS mutations_sync = 0;
ALTER TABLE items MATERIALIZE INDEX by_session SETTINGS mutations_sync = 0;
ALTER TABLE decisions MATERIALIZE INDEX by_session SETTINGS mutations_sync = 0;
ALTER TABLE windows MATERIALIZE INDEX by_session SETTINGS mutations_sync = 0;
ALTER TABLE placements MATERIALIZE INDEX by_session SETTINGS mutations_sync = 0;
ALTER TABLE replacements MATERIALIZE INDEX by_session SETTINGS mutations_sync = 0;
ALTER TABLE redactions MATERIALIZE INDEX by_session SETTINGS mutations_sync = 0;
ALTER TABLE missing MATERIALIZE INDEX by_session SETTINGS mutations_sync = 0;
ALTER TABLE calls MATERIALIZE INDEX by_session SETTINGS mutations_sync = 0;
ALTER TABLE log_items MATERIALIZE INDEX by_session SETTINGS mutations_sync = 0;
