package migratetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Shape returns the structure of the connection's database by name: the columns, indexes and CREATE
// statement of each table and view, including comments.
func Shape(ctx context.Context, conn driver.Conn) (map[string]string, error) {
	parts := make(map[string]string)
	for _, sql := range []string{
		"SELECT name, replaceAll(create_table_query, currentDatabase() || '.', '') FROM system.tables WHERE database = currentDatabase()",
		`SELECT table || '.' || name, toString((position, type, default_kind, default_expression, compression_codec, is_in_sorting_key, comment))
			FROM system.columns WHERE database = currentDatabase()`,
		"SELECT table || ' index ' || name, toString((type_full, expr, granularity)) FROM system.data_skipping_indices WHERE database = currentDatabase()",
	} {
		rows, err := conn.Query(ctx, sql)
		if err != nil {
			return nil, err
		}
		for rows.Next() {
			var name, text string
			if err := rows.Scan(&name, &text); err != nil {
				return nil, err
			}
			parts[name] = sortSettings(text)
		}
		if err := errors.Join(rows.Close(), rows.Err()); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// sortSettings sorts the settings of a table, because ALTER adds them at the end.
func sortSettings(create string) string {
	head, settings, ok := strings.Cut(create, " SETTINGS ")
	if !ok || !strings.Contains(head, "MergeTree") {
		return create
	}
	list := strings.Split(settings, ", ")
	slices.Sort(list)
	return head + " SETTINGS " + strings.Join(list, ", ")
}

// Differences returns a sentence for each part of a shape that differs from the shape of a new
// database.
func Differences(got, want map[string]string) (differences []string) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			n := 0
			for n < min(len(got[name]), len(want[name])) && got[name][n] == want[name][n] {
				n++
			}
			differences = append(differences, fmt.Sprintf("%s has %.200q where a new database has %.200q", name, got[name][n:], want[name][n:]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			differences = append(differences, "a new database has no "+name)
		}
	}
	return differences
}
