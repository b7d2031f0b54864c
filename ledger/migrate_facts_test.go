package ledger_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/queries"
)

// TestMigrateKeepsTheFactsOfEveryState stops at each migration that has the tables of
// facts, writes facts, goes on to the newest, and finds in every view what a ledger
// has that was new when they came.
func TestMigrateKeepsTheFactsOfEveryState(t *testing.T) {
	t.Parallel()
	want := contents(t, ledgerOfState(t, 0))
	if want["recorded_events"] == "" || want["scope_records"] == "" {
		t.Fatalf("the views are %v", slices.Sorted(maps.Keys(want)))
	}
	for _, m := range ledger.Migrations() {
		if m.Version < withFacts {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			got := contents(t, ledgerOfState(t, m.Version))
			for view, rows := range want {
				if got[view] != rows {
					t.Errorf("%s has %s (rows and their hash), that of a new ledger %s", view, got[view], rows)
				}
			}
		})
	}
}

// withFacts is the first migration that has the tables of facts.
const withFacts = 3

// ledgerOfState returns a ledger whose facts were written when its tables were those
// of a migration, and that was migrated then. 0 is the newest.
func ledgerOfState(t *testing.T, version uint32) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), embedded.SharedClickHouse(t).ClickHouseDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if version > 0 {
		err = l.MigrateTo(t.Context(), version)
	} else {
		_, err = l.Migrate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	c := newCorpus(t)
	c.batch.Incarnation = uuid.MustParse("6f1d2c3b-0000-4000-8000-000000000001")
	c.runtimeSession()
	c.importedSession()
	if err := l.Write(t.Context(), c.batch, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// contents are the number of rows and a hash of them, of the views that have all
// columns of the tables, and of those that would show that some did not come along.
func contents(t *testing.T, l *ledger.Ledger) map[string]string {
	t.Helper()
	views := []string{"session_summary", "run_tree", "compaction_lineage", "gaps", "check_lost_runtime_ids"}
	for _, v := range queries.Views() {
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
