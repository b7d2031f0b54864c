-- The condition is that of expirable_decisions.sql.
ALTER TABLE {table:Identifier}
DELETE
