-- The view of a check, generated for each file of checks/: the check of all tenants.
CREATE OR REPLACE VIEW {check} AS SELECT * FROM {database}.{check}_of(tenant = '')
