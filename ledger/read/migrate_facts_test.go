package read_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/migrate"
	"github.com/ctxledger/ctxledger/ledger/migrate/migratetest"
	"github.com/ctxledger/ctxledger/ledger/shadow"
)

// TestMigrateKeepsTheFactsOfEveryState writes facts to each released state with tables of facts of its
// own and migrates it. Every view then equals the view of a new ledger with the same facts, and the
// database is equal to that of the new ledger in structure.
func TestMigrateKeepsTheFactsOfEveryState(t *testing.T) {
	t.Parallel()
	newest := embeddedtest.ClickHouse(t).ClickHouseDSN()
	model := migrated(t, newest)
	c := newCorpus(t)
	c.batch.Incarnation = uuid.MustParse("6f1d2c3b-0000-4000-8000-000000000001")
	c.runtimeSession()
	c.importedSession()
	if err := model.Write(t.Context(), c.batch, 1); err != nil {
		t.Fatal(err)
	}
	want, wantShape := contents(t, model), shapeOf(t, newest)
	if want["recorded_events"] == "" || want["scope_records"] == "" || len(wantShape) < 900 {
		t.Fatalf("the views are %v, and the structure has %d parts", slices.Sorted(maps.Keys(want)), len(wantShape))
	}
	for _, state := range migratetest.States() {
		if !state.HoldsFacts() {
			continue
		}
		t.Run(state.Name, func(t *testing.T) {
			t.Parallel()
			dsn := embeddedtest.ClickHouse(t).ClickHouseDSN()
			copyFacts(t, newest, dsn, state)
			l := migrated(t, dsn)
			got := contents(t, l)
			for view, rows := range want {
				if got[view] != rows {
					t.Errorf("%s has %s (rows and their hash), that of a new ledger %s", view, got[view], rows)
				}
			}
			for _, difference := range migratetest.Differences(shapeOf(t, dsn), wantShape) {
				t.Error(difference)
			}
			if got := recorded(t, dsn); !slices.Equal(got, recorded(t, newest)) {
				t.Errorf("the changes %v are recorded", got)
			}
			if applied, err := shadow.Of(l).Migrate(t.Context()); err != nil || len(applied) > 0 {
				t.Errorf("a second migration applied %v, %v", applied, err)
			}
		})
	}
}

// migrated opens the ledger at dsn and migrates it. What was pending before is applied, and no change
// that the database had.
func migrated(t *testing.T, dsn string) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	had := recorded(t, dsn)
	pending, err := shadow.Of(l).Pending(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	applied, err := shadow.Of(l).Migrate(t.Context())
	if err != nil || !slices.Equal(applied, pending) || len(applied) == 0 {
		t.Errorf("applied %v, %v; pending was %v", applied, err, pending)
	}
	for _, version := range had {
		if slices.ContainsFunc(applied, func(name string) bool { return strings.HasPrefix(name, fmt.Sprintf("%04d_", version)) }) {
			t.Errorf("change %d was applied again", version)
		}
	}
	return l
}

// recorded returns the changes that the database at dsn has.
func recorded(t *testing.T, dsn string) []uint32 {
	t.Helper()
	changes, err := migrate.Recorded(t.Context(), embeddedtest.Connect(t, dsn))
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// shapeOf returns the structure of the database at dsn.
func shapeOf(t *testing.T, dsn string) map[string]string {
	t.Helper()
	shape, err := migratetest.Shape(t.Context(), embeddedtest.Connect(t, dsn))
	if err != nil {
		t.Fatal(err)
	}
	return shape
}

// copyFacts makes the tables of a state and fills them with the rows of another database on the
// server.
func copyFacts(t *testing.T, from, to string, state migratetest.State) {
	t.Helper()
	source, err := clickhouse.ParseDSN(from)
	if err != nil {
		t.Fatal(err)
	}
	options, err := clickhouse.ParseDSN(to)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := state.Make(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	var tables []struct {
		Name    string   `ch:"table"`
		Columns []string `ch:"columns"`
	}
	if err := conn.Select(t.Context(), &tables, `SELECT table, groupArray(name) AS columns FROM system.columns
		WHERE database = currentDatabase() AND default_kind = '' AND table IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND name != 'migrations')
		GROUP BY table`); err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		columns := strings.Join(table.Columns, ", ")
		if err := conn.Exec(t.Context(), fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s.%s", table.Name, columns, columns, source.Auth.Database, table.Name)); err != nil {
			t.Fatal(err)
		}
	}
}

// contents returns the number and a hash of the rows of views. These are the views with all columns
// of a table, and the views that would show missing facts.
func contents(t *testing.T, l *ledger.Ledger) map[string]string {
	t.Helper()
	views := []string{"session_summary", "run_tree", "compaction_lineage", "gaps", "check_lost_runtime_ids"}
	for _, v := range migrate.Views() {
		views = append(views, v.Name)
		if v.Name == "scope_records" {
			break
		}
	}
	all := make(map[string]string)
	for _, view := range views {
		all[view] = fmt.Sprint(rows(t, l, "SELECT count(), sum(sipHash64(toString(tuple(*)))) FROM {view:Identifier}", map[string]string{"view": view})[0])
	}
	return all
}
