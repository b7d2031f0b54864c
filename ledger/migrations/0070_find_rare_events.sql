-- What an erasure took away is asked for by every window and every way of an item.
-- Erasures stand among the events without a session, which each part begins with:
-- the types of a granule tell those apart that have none.
ALTER TABLE events ADD INDEX IF NOT EXISTS by_type event_type TYPE set(64) GRANULARITY 1;
