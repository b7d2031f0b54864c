-- Erasures are found among the events without a session by the types of a granule.
ALTER TABLE events ADD INDEX IF NOT EXISTS by_type event_type TYPE set(64) GRANULARITY 1;
