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

// TestMigrateKeepsTheFactsOfEveryState writes facts to each released state with tables of facts and
// migrates it. Every view then equals the view of a new ledger with the same facts.
func TestMigrateKeepsTheFactsOfEveryState(t *testing.T) {
	t.Parallel()
	newest := embeddedtest.ClickHouse(t).ClickHouseDSN()
	want := contents(t, ledgerOfState(t, newest, nil, ""))
	if want["recorded_events"] == "" || want["scope_records"] == "" {
		t.Fatalf("the views are %v", slices.Sorted(maps.Keys(want)))
	}
	for _, state := range migratetest.States() {
		if state.Version < withFacts || !state.HasOwnTables() || testing.Short() && state.Version != withFacts {
			continue
		}
		t.Run(state.Name, func(t *testing.T) {
			t.Parallel()
			got := contents(t, ledgerOfState(t, embeddedtest.ClickHouse(t).ClickHouseDSN(), &state, newest))
			for view, rows := range want {
				if got[view] != rows {
					t.Errorf("%s has %s (rows and their hash), that of a new ledger %s", view, got[view], rows)
				}
			}
		})
	}
}

// withFacts is the first state with tables of facts.
const withFacts = 3

// ledgerOfState returns a migrated ledger with facts written in an earlier state. The facts come
// from the ledger at newest, as far as the state has columns for them. If state is nil, the facts
// are written to the newest tables.
func ledgerOfState(t *testing.T, dsn string, state *migratetest.State, newest string) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if state != nil {
		copyFacts(t, newest, dsn, *state)
	}
	_, err = shadow.Of(l).Migrate(t.Context())
	if err == nil && state == nil {
		c := newCorpus(t)
		c.batch.Incarnation = uuid.MustParse("6f1d2c3b-0000-4000-8000-000000000001")
		c.runtimeSession()
		c.importedSession()
		err = l.Write(t.Context(), c.batch, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
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
