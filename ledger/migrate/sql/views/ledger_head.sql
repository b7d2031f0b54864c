-- One row: when the newest event was recorded.
--
-- Needs: events.
--
--   recorded_at  DateTime64(9, 'UTC')  time
--   events       UInt64                count  rows stored, repeats included
CREATE OR REPLACE VIEW ledger_head AS
SELECT max(recorded_at) AS recorded_at, count() AS events
FROM events;
