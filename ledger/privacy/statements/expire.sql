-- The condition is that of expirable.sql.
ALTER TABLE events
UPDATE data = ''
