WITH
columns AS
(
    SELECT
        table, arraySort(groupArray((name, type, default_kind, default_expression, compression_codec))) AS list
    FROM system.columns
    WHERE database = currentDatabase()
    GROUP BY table
)
SELECT
    t.name AS name,
    arrayStringConcat(
        [engine_full, as_select, toString(list), toString(indexes_of)], '\n') AS definition
FROM
(
    SELECT name, engine_full, replaceAll(as_select, concat(database, '.'), '') AS as_select
    FROM system.tables
    WHERE database = currentDatabase() AND name NOT IN ('cluster_shards', 'cluster_moves')
) AS t
LEFT JOIN columns AS c ON c.table = t.name
LEFT JOIN
(
    SELECT table, arraySort(groupArray((name, type_full, expr, granularity))) AS indexes_of
    FROM system.data_skipping_indices
    WHERE database = currentDatabase()
    GROUP BY table
) AS i ON i.table = t.name
ORDER BY name
