package migrate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger/migrate/migratetest"
)

// empty returns a connection to a new database for the test.
func empty(t *testing.T) driver.Conn {
	t.Helper()
	return embeddedtest.Connect(t, embeddedtest.ClickHouse(t).ClickHouseDSN())
}

func mustUp(t *testing.T, conn driver.Conn, r *release) []string {
	t.Helper()
	applied, err := up(t.Context(), conn, r)
	if err != nil {
		t.Fatal(err)
	}
	return applied
}

func exec(t *testing.T, conn driver.Conn, sql string, args ...any) {
	t.Helper()
	if err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// list returns the single column of an answer.
func list(t *testing.T, conn driver.Conn, sql string) (names []string) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), "SELECT groupArray(toString(*)) FROM ("+sql+")").Scan(&names); err != nil {
		t.Fatal(err)
	}
	return names
}

// shape returns the structure of a database.
func shape(t *testing.T, conn driver.Conn) map[string]string {
	t.Helper()
	parts, err := migratetest.Shape(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// same compares a database with the shape of a new one.
func same(t *testing.T, conn driver.Conn, want map[string]string) {
	t.Helper()
	for _, difference := range migratetest.Differences(shape(t, conn), want) {
		t.Error(difference)
	}
}

var newest struct {
	sync.Mutex
	shape map[string]string
}

// newShape returns the shape of a new database, which the first test that may start servers makes.
func newShape(t *testing.T) map[string]string {
	t.Helper()
	newest.Lock()
	defer newest.Unlock()
	if newest.shape == nil {
		conn := empty(t)
		mustUp(t, conn, current())
		if newest.shape = shape(t, conn); len(newest.shape) < 900 {
			t.Fatalf("the shape has only %d parts", len(newest.shape))
		}
	}
	return newest.shape
}

// TestReleasedStatesComeUp migrates released states. The test compares the result, and the recorded
// numbers, with a new database. TestMigrateKeepsTheFactsOfEveryState in package read migrates the
// other states, with facts.
func TestReleasedStatesComeUp(t *testing.T) {
	t.Parallel()
	want := newShape(t)
	states := migratetest.States()
	if len(states) != 34 {
		t.Fatalf("%d states", len(states))
	}
	for _, state := range states {
		if state.HoldsFacts() && state.Version != states[len(states)-1].Version {
			continue
		}
		t.Run(state.Name, func(t *testing.T) {
			t.Parallel()
			conn := empty(t)
			if err := state.Make(t.Context(), conn); err != nil {
				t.Fatal(err)
			}
			pending, err := Pending(t.Context(), conn)
			if err != nil {
				t.Fatal(err)
			}
			applied := mustUp(t, conn, current())
			if !slices.Equal(applied, pending) || len(applied) == 0 {
				t.Errorf("applied %v, pending was %v", applied, pending)
			}
			for _, name := range applied {
				if name <= state.Name && name[0] == '0' {
					t.Errorf("%s was applied again", name)
				}
			}
			same(t, conn, want)
			upToDate(t, conn)
		})
	}
}

// upToDate checks that nothing is pending, all numbers are recorded, and Up does nothing.
func upToDate(t *testing.T, conn driver.Conn) {
	t.Helper()
	pending, err := Pending(t.Context(), conn)
	if err != nil || len(pending) > 0 {
		t.Errorf("pending: %v, %v", pending, err)
	}
	recorded, err := Recorded(t.Context(), conn)
	if err != nil || len(recorded) != len(current().changes) {
		t.Errorf("recorded: %v, %v", recorded, err)
	}
	if applied := mustUp(t, conn, current()); len(applied) > 0 {
		t.Errorf("a second migration applied %v", applied)
	}
	commented(t, conn, current())
}

// commented checks that all comments come from the headers.
func commented(t *testing.T, conn driver.Conn, r *release) {
	t.Helper()
	d, err := look(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	if changes, err := d.uncommented(t.Context(), r.views); err != nil || len(changes) > 0 {
		t.Errorf("comments are missing: %v, %v", changes, err)
	}
}

func TestPendingOnAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	conn := empty(t)
	pending, err := Pending(t.Context(), conn)
	if err != nil || len(pending) != len(current().changes) || pending[0] != "0001_create_migrations" || pending[len(pending)-1] != Latest() {
		t.Fatalf("pending %v, %v; want all changes", pending, err)
	}
	if applied := mustUp(t, conn, current()); !slices.Equal(applied, pending) {
		t.Errorf("applied %v, pending was %v", applied, pending)
	}
	upToDate(t, conn)
}

// cutting is a connection that breaks before a statement.
type cutting struct {
	driver.Conn
	before func(sql string) bool
}

var errCut = errors.New("cut off")

func (c *cutting) Exec(ctx context.Context, sql string, args ...any) error {
	if c.before(sql) {
		return errCut
	}
	return c.Conn.Exec(ctx, sql, args...)
}

// TestUpGoesOnWhereItWasCut interrupts migrations from an empty database and from released states.
// The interruptions come in each change, and before statements that every run selects again.
// CTXLEDGER_FAULTS=long interrupts before each statement.
func TestUpGoesOnWhereItWasCut(t *testing.T) {
	t.Parallel()
	want := newShape(t)
	states := migratetest.States()
	try := func(name string, from migratetest.State, before func(string) bool) {
		t.Run(from.Name+" "+name, func(t *testing.T) {
			conn := empty(t)
			if from.Version > 0 {
				if err := from.Make(t.Context(), conn); err != nil {
					t.Fatal(err)
				}
			}
			_, err := up(t.Context(), &cutting{conn, before}, current())
			if !errors.Is(err, errCut) {
				t.Fatal(err)
			}
			mustUp(t, conn, current())
			same(t, conn, want)
			upToDate(t, conn)
		})
	}
	t.Run("in each change", func(t *testing.T) {
		conn, cuts := empty(t), 0
		if err := states[0].Make(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
		for _, c := range current().changes {
			if len(c.statements) < 2 {
				continue
			}
			if _, err := up(t.Context(), &cutting{conn, func(sql string) bool { return sql == c.statements[1] }}, current()); !errors.Is(err, errCut) {
				t.Fatalf("%s: %v", c.name, err)
			}
			cuts++
		}
		if cuts == 0 {
			t.Fatal("no change was cut")
		}
		mustUp(t, conn, current())
		same(t, conn, want)
		upToDate(t, conn)
	})
	try("in the views", states[len(states)-1], func(sql string) bool { return strings.HasPrefix(sql, createView+"turn_window ") })
	for _, from := range []migratetest.State{{}, states[2], states[len(states)/2], states[len(states)-1]} {
		before := make([]int, statementsFrom(t, from))
		for n := range before {
			before[n] = n
		}
		if os.Getenv("CTXLEDGER_FAULTS") != "long" {
			before = []int{rand.N(len(before))}
		}
		for _, n := range before {
			left := n
			try(fmt.Sprintf("before %d", n), from, func(string) bool { left--; return left < 0 })
		}
	}
}

// statementsFrom counts the statements of a migration from a state.
func statementsFrom(t *testing.T, from migratetest.State) (n int) {
	t.Helper()
	conn := empty(t)
	if from.Version > 0 {
		if err := from.Make(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := up(t.Context(), &cutting{conn, func(string) bool { n++; return false }}, current()); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestTwoAtOnce: two concurrent migrations give the same result, from an empty database and from
// released states.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	want := newShape(t)
	states := migratetest.States()
	for i, state := range []migratetest.State{{}, {}, states[2], states[len(states)/2], states[len(states)-1]} {
		t.Run(fmt.Sprintf("%d%s", i, state.Name), func(t *testing.T) {
			t.Parallel()
			conn := empty(t)
			if state.Version > 0 {
				if err := state.Make(t.Context(), conn); err != nil {
					t.Fatal(err)
				}
			}
			const programs = 3
			done := make(chan error, programs)
			for range programs {
				go func() {
					_, err := up(t.Context(), conn, current())
					done <- err
				}()
			}
			for range programs {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			same(t, conn, want)
			upToDate(t, conn)
		})
	}
}

// TestUpRefuses: Up refuses states of a later version or with another text, and changes nothing.
func TestUpRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ spoil, want string }{
		"a later version": {"INSERT INTO migrations VALUES (9999, '9999_later')",
			"the database has change 9999, which this version does not know, so nothing was changed: use the version that made it, or a later one"},
		"an edited change": {"INSERT INTO definitions VALUES ('legacy/0090_change_rules_by_position', 'beef')",
			"the database has change 0090_change_rules_by_position with SHA-256 beef and this program has it with "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := empty(t)
			mustUp(t, conn, current())
			exec(t, conn, test.spoil)
			exec(t, conn, "DROP VIEW gaps")
			before := shape(t, conn)
			applied, err := up(t.Context(), conn, current())
			if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "\n") || len(applied) > 0 {
				t.Errorf("applied %v: %v", applied, err)
			}
			same(t, conn, before)
			if pending, err := Pending(t.Context(), conn); err != nil || (len(pending) > 0) != (name == "an edited change") {
				t.Errorf("pending %v, %v", pending, err)
			}
		})
	}
}

// TestTablesOfWhichNothingIsRecorded: tables without recorded numbers are altered like tables of
// the first version. Their migration was interrupted, or the records were lost.
func TestTablesOfWhichNothingIsRecorded(t *testing.T) {
	t.Parallel()
	want := newShape(t)
	conn := empty(t)
	if err := migratetest.States()[11].Make(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	exec(t, conn, "TRUNCATE TABLE migrations")
	mustUp(t, conn, current())
	same(t, conn, want)
	upToDate(t, conn)
}

// TestOlderLedgersHaveNoDigests: numbers that earlier versions recorded without a digest are
// accepted.
func TestOlderLedgersHaveNoDigests(t *testing.T) {
	t.Parallel()
	conn := empty(t)
	states := migratetest.States()
	if err := states[len(states)-1].Make(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	var want []string // the changes since then
	for _, c := range current().changes {
		if strings.HasPrefix(c.file, "changes/") {
			want = append(want, c.name)
		}
	}
	since := len(want)
	want = append(want, "table definitions", "table limits", "table retold", fmt.Sprintf("%d views", len(current().definitions)))
	if applied := mustUp(t, conn, current()); !slices.Equal(slices.Sorted(slices.Values(applied)), slices.Sorted(slices.Values(want))) {
		t.Errorf("applied %v, want %v", applied, want)
	}
	if got := list(t, conn, "SELECT name FROM definitions FINAL WHERE name LIKE 'legacy/%'"); len(got) > 0 {
		t.Errorf("digests of %v were recorded, which an earlier version applied", got)
	}
	if got := list(t, conn, "SELECT count() FROM definitions FINAL"); got[0] != fmt.Sprint(since+len(current().definitions)) {
		t.Errorf("%v definitions are recorded", got)
	}
}
