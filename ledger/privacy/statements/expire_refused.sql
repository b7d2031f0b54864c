-- The condition is that of expirable_refused.sql.
ALTER TABLE quarantine
UPDATE data = '', header = ''
