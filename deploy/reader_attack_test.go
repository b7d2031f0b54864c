package deploy_test

// A sqlAttack is what a tenant's reader tries on the rows of another tenant. No answer and no error
// may contain a value of the other tenant.
type sqlAttack struct {
	class   string
	finding string // why the class is in the list
	refused bool   // the server must refuse each statement
	sql     []string
}

// relationsOfAttack are a view, a view of a table, and a check in the database of the reader.
var relationsOfAttack = []string{"recorded_events", "item_versions", "items", "log_items", "events", "refused_events", "check_sequence_gaps"}

// sqlAttacks is the list of the classes. {view} stands for each of relationsOfAttack, {text} for a
// column of it with text of the other tenant.
var sqlAttacks = []sqlAttack{
	{"throwIf", "an error of a condition that runs before the filter prints the row", false, []string{
		"SELECT count() FROM {view} WHERE throwIf(tenant != 'acme', 'found') = 0",
		"SELECT count() FROM {view} WHERE throwIf({text} LIKE '%zebra%', 'found') = 0",
		"SELECT count() FROM (SELECT * FROM {view}) WHERE throwIf(tenant = 'zeta-2', 'found') = 0",
		"SELECT tenant, count() FROM {view} GROUP BY tenant HAVING throwIf(tenant != 'acme', 'found') = 0",
		"SELECT count() FROM {view} AS a INNER JOIN {view} AS b ON a.tenant = b.tenant AND throwIf(b.tenant != 'acme', 'found') = 0",
		"SELECT count() FROM {view} AS a LEFT JOIN (SELECT * FROM {view} WHERE throwIf(tenant != 'acme', 'found') = 0) AS b ON a.tenant = b.tenant",
		"SELECT throwIf(tenant != 'acme', 'found') FROM {view} ORDER BY throwIf(tenant != 'acme', 'found') LIMIT 3",
		"SELECT count() FROM {view} QUALIFY throwIf(max(tenant) != 'acme', 'found') = 0",
	}},
	{"throwIf with FINAL", "FINAL changes the order of filter and condition", false, []string{
		"SELECT count() FROM {view} FINAL WHERE throwIf(tenant != 'acme', 'found') = 0",
		"SELECT count() FROM {view} FINAL WHERE throwIf({text} LIKE '%zebra%', 'found') = 0",
		"SELECT count() FROM {view} WHERE throwIf(tenant != 'acme', 'found') = 0 SETTINGS final = 1",
		"SELECT count() FROM {view} WHERE throwIf(tenant != 'acme', 'found') = 0 SETTINGS optimize_move_to_prewhere_if_final = 1, final = 1",
	}},
	{"casts", "the error of a cast prints the text", false, []string{
		"SELECT count() FROM {view} WHERE toUInt64(concat({text}, 'x')) = 0",
		"SELECT count() FROM {view} FINAL WHERE toUInt64(concat({text}, 'x')) = 0",
		"SELECT max(toDate({text})) FROM {view}",
		"SELECT max(toUUID({text})) FROM {view} WHERE tenant = 'zeta-2'",
		"SELECT max(CAST(tenant, 'Enum8(\\'acme\\' = 1)')) FROM {view}",
		"SELECT max(JSONExtract({text}, 'x', 'UInt8')) + max(toInt8({text})) FROM {view} WHERE {text} LIKE '%zebra%'",
		"SELECT max(accurateCast({text}, 'Float64')) FROM {view} PREWHERE {text} LIKE '%zebra%'",
	}},
	{"division", "a division by zero tells that a row exists", false, []string{
		"SELECT count() FROM {view} WHERE intDiv(1, toUInt8(tenant = 'acme')) = 1",
		"SELECT count() FROM {view} FINAL WHERE intDiv(1, toUInt8(tenant = 'acme')) = 1",
		"SELECT sum(intDiv(1, tenant = 'acme')) FROM {view}",
		"SELECT count() FROM {view} GROUP BY tenant HAVING intDiv(1, toUInt8(tenant = 'acme')) = 1",
	}},
	{"PREWHERE", "a condition before the filter", true, []string{
		"SELECT count() FROM {view} PREWHERE throwIf(tenant != 'acme', 'found') = 0",
		"SELECT count() FROM {view} FINAL PREWHERE throwIf({text} LIKE '%zebra%', 'found') = 0",
	}},
	{"settings of the plan", "an optimisation moves a condition below the filter", false, []string{
		"SELECT count() FROM {view} WHERE throwIf(tenant != 'acme', 'found') = 0 SETTINGS enable_analyzer = 0",
		"SELECT count() FROM {view} WHERE throwIf(tenant != 'acme', 'found') = 0 SETTINGS query_plan_enable_optimizations = 0",
		"SELECT count() FROM {view} WHERE throwIf(tenant != 'acme', 'found') = 0 SETTINGS allow_reorder_prewhere_conditions = 1, move_all_conditions_to_prewhere = 1, move_primary_key_columns_to_end_of_prewhere = 0",
		"SELECT count() FROM {view} WHERE {text} LIKE '%zebra%' OR throwIf(tenant != 'acme', 'found') = 1 SETTINGS short_circuit_function_evaluation = 'disable'",
		"SELECT count() FROM {view} WHERE throwIf(tenant != 'acme', 'found') = 0 SETTINGS query_plan_merge_filters = 1, optimize_prewhere_to_limits = 0",
		"SELECT count() FROM {view} WHERE throwIf(tenant != 'acme', 'found') = 0 SETTINGS additional_table_filters = {'ctxledger.events': 'throwIf(tenant != \\'acme\\') = 0'}",
		"SELECT count() FROM {view} SETTINGS additional_result_filter = 'throwIf(1)'",
		"SELECT count() FROM {view} WHERE throwIf(tenant != 'acme', 'found') = 0 SETTINGS use_query_condition_cache = 1",
		"SELECT count() FROM {view} SETTINGS use_query_cache = 1",
	}},
	{"the ledger's own database", "the base tables hold the rows of all tenants", true, []string{
		"SELECT * FROM ctxledger.events", "SELECT count() FROM ctxledger.recorded_events", "SELECT event_id FROM ctxledger.items",
		"SELECT * FROM ctxledger.commits", "SELECT * FROM ctxledger.log_hashes", "SELECT count() FROM ctxledger.check_conservation_of(tenant = 'zeta-2')",
		"SELECT * FROM `ctxledger_of_zeta-2`.events", "SELECT count() FROM `ctxledger_of_zeta-2`.recorded_events",
		"SELECT * FROM ctxledger_rebuild.events", "SELECT * FROM loop(ctxledger.events) LIMIT 1", "SELECT * FROM viewExplain('EXPLAIN', '', (SELECT * FROM ctxledger.events))",
		"DESCRIBE TABLE ctxledger.events", "SHOW CREATE TABLE ctxledger.events", "SHOW TABLES FROM ctxledger_x", "EXISTS TABLE ctxledger.events",
		"CHECK TABLE ctxledger.events", "SELECT * FROM view(SELECT * FROM ctxledger.events)",
	}},
	{"table functions over parts", "mergeTreeIndex prints keys of all rows", true, []string{
		"SELECT * FROM mergeTreeIndex(ctxledger, events)", "SELECT * FROM mergeTreeIndex('ctxledger', 'events', with_marks = true)",
		"SELECT * FROM mergeTreeIndex('ctxledger', 'items', with_minmax = true)", "SELECT * FROM mergeTreeIndex(ctxledger_of_acme, events)",
		"SELECT * FROM mergeTreeAnalyzeIndexes(ctxledger, events)", "SELECT * FROM mergeTreeAnalyzeIndexes(ctxledger, events, tenant = 'zeta-2')",
		"SELECT * FROM mergeTreeAnalyzeIndexes(ctxledger_of_acme, events)", "SELECT * FROM mergeTreeTextIndex(ctxledger, events, x)",
		"SELECT * FROM mergeTreeProjection(ctxledger, events, x)", "SELECT * FROM mergeTreeAnalyzeIndexesUUID('00000000-0000-0000-0000-000000000000')",
	}},
	{"table functions over tables", "a function that opens tables by name", true, []string{
		"SELECT * FROM merge('ctxledger', '^commits$')", "SELECT * FROM cluster('default', 'ctxledger', 'events')",
		"SELECT * FROM remote('127.0.0.1', 'ctxledger', 'events')", "SELECT * FROM clusterAllReplicas('default', ctxledger.events)",
		"SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')", "SELECT * FROM file('*', 'LineAsString')", "SELECT * FROM executable('x', TSV, 'x String')",
		"SELECT * FROM dictionary('x')", "SELECT * FROM input('x String')", "SELECT * FROM mysql('127.0.0.1:1', 'a', 'b', 'c', 'd')",
		"SELECT * FROM fuzzQuery('SELECT 1')", "SELECT * FROM timeSeriesData('ctxledger.events')", "SELECT dictGet('x', 'y', 1)", "SELECT joinGet('ctxledger.events', 'data', 'x')",
	}},
	{"merge", "merge() reads all tables whose name matches", false, []string{
		"SELECT count() FROM merge('ctxledger.*', 'events') WHERE tenant != 'acme'", "SELECT DISTINCT tenant FROM merge('.*', '^(events|recorded_events)$')",
		"SELECT DISTINCT _database FROM merge('.*', '^events$')",
	}},
	{"virtual columns", "parts and shards are named after all rows", true, []string{
		"SELECT _part FROM {view}", "SELECT _part_uuid, _partition_id FROM {view}", "SELECT _sample_factor, _row_exists FROM {view}", "SELECT _part_offset FROM {view}", "SELECT _block_number FROM {view}",
	}},
	{"system tables", "names, sizes and statements of others", true, []string{
		"SELECT * FROM system.parts", "SELECT * FROM system.parts_columns", "SELECT * FROM system.detached_parts", "SELECT * FROM system.users", "SELECT * FROM system.row_policies",
		"SELECT * FROM system.quotas_usage", "SELECT * FROM system.grants", "SELECT * FROM system.processes", "SELECT * FROM system.query_log", "SELECT * FROM system.part_log", "SELECT * FROM system.mutations",
		"SELECT * FROM system.merges", "SELECT * FROM system.moves", "SELECT * FROM system.query_cache", "SELECT * FROM system.query_condition_cache", "SELECT * FROM system.sessions_log", "SELECT * FROM system.session_log",
		"SELECT * FROM system.errors", "SELECT * FROM system.warnings", "SELECT * FROM system.disks", "SELECT * FROM system.storage_policies", "SELECT * FROM system.server_settings", "SELECT * FROM system.macros",
		"SELECT * FROM system.asynchronous_metrics", "SELECT * FROM system.metrics", "SELECT * FROM system.events", "SELECT * FROM system.stack_trace", "SELECT * FROM system.crash_log", "SELECT * FROM system.text_log",
		"SELECT * FROM system.replicas", "SELECT * FROM system.clusters", "SELECT * FROM system.projection_parts", "SELECT * FROM system.data_skipping_indices WHERE throwIf(database = 'ctxledger') = 1", "SELECT * FROM system.dropped_tables",
		"SELECT * FROM system.user_processes", "SELECT * FROM system.view_refreshes", "SELECT * FROM system.backups", "SELECT * FROM system.build_options", "SELECT * FROM system.filesystem_cache", "SELECT * FROM system.remote_data_paths",
		"SELECT * FROM system.dictionaries", "SELECT * FROM system.models", "SELECT * FROM system.named_collections", "SELECT * FROM system.asynchronous_inserts", "SELECT * FROM system.zookeeper", "SELECT * FROM system.blob_storage_log",
		"SELECT * FROM system.background_schedule_pool", "SELECT * FROM system.opentelemetry_span_log", "SELECT * FROM system.settings_profiles", "SELECT * FROM system.user_directories", "SELECT * FROM system.workloads", "SELECT * FROM system.iceberg_history",
	}},
	{"system tables that all may read", "system.tables.total_rows counted the rows of all tenants", false, []string{
		"SELECT database, name, total_rows, total_bytes, data_paths, metadata_path FROM system.tables", "SELECT * FROM system.columns", "SELECT * FROM system.databases",
		"SELECT * FROM system.functions WHERE name LIKE '%zeta%'", "SELECT * FROM system.settings WHERE value LIKE '%zeta%'", "SELECT * FROM system.quota_usage", "SELECT * FROM system.current_roles",
		"SELECT * FROM information_schema.tables", "SELECT * FROM information_schema.columns", "SELECT * FROM INFORMATION_SCHEMA.views", "SELECT * FROM INFORMATION_SCHEMA.statistics", "SELECT * FROM system.tables WHERE database = 'ctxledger' AND throwIf(total_rows > 0) = 1",
		"SHOW TABLES", "SHOW DATABASES", "SHOW GRANTS", "SHOW PROCESSLIST", "SHOW FULL TABLES FROM ctxledger", "SHOW INDEX FROM events", "SHOW CREATE TABLE recorded_events", "SHOW DICTIONARIES", "SHOW USERS", "SHOW POLICIES", "SHOW ACCESS", "SHOW CLUSTERS",
	}},
	{"plans", "a plan names parts, filters and rows", false, []string{
		"EXPLAIN SELECT count() FROM {view}", "EXPLAIN PLAN indexes = 1, actions = 1 SELECT count() FROM {view} WHERE {text} = 'x'", "EXPLAIN PIPELINE SELECT count() FROM {view}",
		"EXPLAIN AST SELECT * FROM {view}", "EXPLAIN SYNTAX run_query_tree_passes = 1 SELECT * FROM {view}", "EXPLAIN QUERY TREE SELECT * FROM {view}", "EXPLAIN TABLE OVERRIDE mysql('127.0.0.1:1', 'a', 'b', 'c', 'd')",
		"SELECT * FROM (EXPLAIN indexes = 1 SELECT count() FROM {view})", "EXPLAIN PLAN projections = 1, header = 1, json = 1 SELECT count() FROM {view} WHERE tenant = 'x'",
	}},
	{"names in errors", "an error proposes names that are like the one asked for", true, []string{
		"SELECT * FROM recorded_event", "SELECT * FROM ctxledger.event", "SELECT * FROM ctxledger_of_zeta.events", "SELECT * FROM zeta", "SELECT itemid FROM items", "SELECT * FROM `ctxledger_of_zeta-2`.event", "USE `ctxledger_of_zeta-3`", "SELECT zebraa FROM recorded_events",
	}},
	{"changes", "a statement that changes data, users or settings", true, []string{
		"INSERT INTO events (tenant) VALUES ('acme')", "INSERT INTO ctxledger.events (tenant) VALUES ('acme')", "CREATE VIEW v AS SELECT 1", "CREATE VIEW v DEFINER = ctxledger SQL SECURITY DEFINER AS SELECT * FROM ctxledger.events",
		"CREATE TEMPORARY TABLE t AS SELECT 1", "CREATE TABLE t ENGINE = Merge('ctxledger', 'events') AS SELECT 1 AS x", "DROP VIEW events", "ALTER TABLE events MODIFY QUERY SELECT 1", "ALTER TABLE events MODIFY SQL SECURITY NONE", "ALTER TABLE events MODIFY DEFINER = ctxledger",
		"CREATE ROW POLICY p ON ctxledger.events USING 1 TO reader_acme", "ALTER USER reader_acme SETTINGS PROFILE 'default'", "GRANT SELECT ON ctxledger.* TO reader_acme", "EXECUTE AS ctxledger SELECT 1", "EXECUTE AS `rows_zeta-2` SELECT 1", "SYSTEM FLUSH LOGS", "SYSTEM RELOAD CONFIG",
		"KILL QUERY WHERE 1", "BACKUP TABLE ctxledger.events TO File('x')", "RESTORE TABLE ctxledger.events FROM File('x')", "SELECT 1 SETTINGS readonly = 0", "SELECT 1 SETTINGS allow_ddl = 1, readonly = 0", "CREATE FUNCTION f AS (x) -> x", "ATTACH TABLE t FROM 'x' (a UInt8) ENGINE = Memory",
	}},
	{"functions", "a function that tells of other tables or of the server", false, []string{
		"SELECT hasColumnInTable('ctxledger', 'events', 'data')", "SELECT currentUser(), currentDatabase(), hostName()", "SELECT getSetting('max_memory_usage')", "SELECT getServerPort('tcp_port')",
		"SELECT count() FROM events WHERE tenant IN (SELECT tenant FROM events WHERE tenant != 'acme')", "SELECT min(tenant), max(tenant), uniqExact(tenant), count() FROM {view}", "SELECT estimateCompressionRatio(tenant) > 0 FROM {view}",
		"SELECT groupUniqArray(tenant), any(tenant), anyLast(tenant), topK(3)(tenant) FROM {view}", "SELECT * FROM {view} LIMIT 100000", "SELECT blockNumber(), rowNumberInAllBlocks() FROM {view}", "SELECT defaultRoles(), currentProfiles(), enabledProfiles()",
		"SELECT catboostEvaluate('x', 1)", "SELECT file('/etc/hostname')", "SELECT queryString(), initialQueryID()", "SET ROLE ALL", "SELECT errorCodeToName(1)", "SELECT throwIf(1, (SELECT max(tenant) FROM {view}))",
	}},
}
