-- The server by itself keeps statistics of every column of every part, by which it
-- chooses an order of conditions and of joins: the least and greatest value, and how
-- many there are. Inserts and merges reckon them and each look at a table reads them,
-- which was about a twentieth of the server's time for a batch; the views choose their
-- order themselves.
ALTER TABLE events MODIFY SETTING auto_statistics_types = '';
ALTER TABLE scopes MODIFY SETTING auto_statistics_types = '';
ALTER TABLE items MODIFY SETTING auto_statistics_types = '';
ALTER TABLE decisions MODIFY SETTING auto_statistics_types = '';
ALTER TABLE windows MODIFY SETTING auto_statistics_types = '';
ALTER TABLE placements MODIFY SETTING auto_statistics_types = '';
ALTER TABLE replacements MODIFY SETTING auto_statistics_types = '';
ALTER TABLE redactions MODIFY SETTING auto_statistics_types = '';
ALTER TABLE missing MODIFY SETTING auto_statistics_types = '';
ALTER TABLE calls MODIFY SETTING auto_statistics_types = '';
ALTER TABLE log_items MODIFY SETTING auto_statistics_types = '';
ALTER TABLE quarantine MODIFY SETTING auto_statistics_types = '';
ALTER TABLE duplicates MODIFY SETTING auto_statistics_types = '';
ALTER TABLE replays MODIFY SETTING auto_statistics_types = '';
ALTER TABLE log_hashes MODIFY SETTING auto_statistics_types = '';
ALTER TABLE commits MODIFY SETTING auto_statistics_types = '';
ALTER TABLE checkpoints MODIFY SETTING auto_statistics_types = '';
ALTER TABLE reintroductions MODIFY SETTING auto_statistics_types = '';
ALTER TABLE rechecks MODIFY SETTING auto_statistics_types = '';
ALTER TABLE prices MODIFY SETTING auto_statistics_types = '';
ALTER TABLE migrations MODIFY SETTING auto_statistics_types = '';
