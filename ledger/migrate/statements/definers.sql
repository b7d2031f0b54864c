-- The definers of the views of tenants' readers.
SELECT groupArray(name)
FROM system.users
WHERE startsWith(name, 'rows_')
