package shadow

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/internal/ledgertest"
	"github.com/google/uuid"
)

// rebuiltBeside returns a ledger with a batch, and a rebuild set with another batch.
func rebuiltBeside(t *testing.T) (live *ledger.Ledger, set *Set, old, fresh *ledger.Batch) {
	t.Helper()
	live = ledgertest.Open(t)
	id := uuid.New()
	old, fresh = ledgertest.Batch(t, id, 1), ledgertest.Batch(t, id, 1000)
	if err := live.Write(t.Context(), old, 1); err != nil {
		t.Fatal(err)
	}
	set, err := Of(live).Beside(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Drop(t.Context()) })
	starts := []Start{{"CTX", id, 1}}
	if ok, err := set.Open(t.Context(), starts); ok || err != nil {
		t.Fatalf("opened a set that is not there: %v, %v", ok, err)
	}
	if err := set.Make(t.Context(), starts); err != nil {
		t.Fatal(err)
	}
	if err := set.Ledger.Write(t.Context(), fresh, 1); err != nil {
		t.Fatal(err)
	}
	return live, set, old, fresh
}

// TestSwappedSetIsWholeWhereverItIsCutOff stops a swap after each step. Two other processes then
// finish it concurrently.
func TestSwappedSetIsWholeWhereverItIsCutOff(t *testing.T) {
	t.Parallel()
	for _, steps := range []int{1, 2, 9, len(swapped()) + 1, len(swapped()) + 2} {
		live, set, _, fresh := rebuiltBeside(t)
		func() {
			defer func() { recover() }()
			_ = set.Swap(t.Context(), func(string) {
				if steps--; steps == 0 {
					panic("cut off")
				}
			})
		}()
		errs := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := Of(live).FinishSwap(t.Context())
				errs <- err
			}()
		}
		for range 2 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if got := ledgertest.Counts(t, live); !reflect.DeepEqual(got, fresh.Rows()) {
			t.Errorf("the tables hold %v, the rebuilt batch %v", got, fresh.Rows())
		}
		if n := ledgertest.Count(t, live, "SELECT count() FROM commits WHERE first_seq = 1000"); n != 1 {
			t.Errorf("%d commits of the rebuilt batch", n)
		}
		if finished, err := Of(live).FinishSwap(t.Context()); finished || err != nil {
			t.Errorf("finished again: %v, %v", finished, err)
		}
		if _, err := Of(live).Migrate(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestTablesWithoutRowsAreLeftOut compares, trims and removes where one side or both have no rows. A trim
// deletes the rows after a sequence, and a removal those of its streams.
func TestTablesWithoutRowsAreLeftOut(t *testing.T) {
	t.Parallel()
	live, set, old, fresh := rebuiltBeside(t)
	id := []uuid.UUID{old.Incarnation}
	differing(t, live, set, old, fresh.Rows())
	if err := set.Trim(t.Context(), old.Incarnation, fresh.Last); err != nil {
		t.Fatal(err)
	}
	differing(t, live, set, old, fresh.Rows())
	if err := set.Trim(t.Context(), old.Incarnation, fresh.First-1); err != nil {
		t.Fatal(err)
	}
	differing(t, live, set, old, nil)
	for _, remove := range [][]uuid.UUID{{uuid.New()}, id} {
		if there, err := Of(live).Holds(t.Context(), id); err != nil || !there {
			t.Errorf("before the removal of %v the rows are there: %t, %v", remove, there, err)
		}
		if err := Of(live).Remove(t.Context(), remove); err != nil {
			t.Fatal(err)
		}
	}
	if there, err := Of(live).Holds(t.Context(), id); err != nil || there || len(ledgertest.Counts(t, live)) > 0 {
		t.Errorf("after the removal the tables hold %v, and say %t, %v", ledgertest.Counts(t, live), there, err)
	}
	differing(t, live, set, old, nil)

	live, set, old, fresh = rebuiltBeside(t)
	for table := range old.Rows() { // the server still counts rows that were removed
		if err := ledgertest.DB(live).Conn.Exec(t.Context(), "TRUNCATE TABLE "+table); err != nil {
			t.Fatal(err)
		}
	}
	differing(t, live, set, old, fresh.Rows())
}

// differing compares the sets of rebuiltBeside. Every row is a difference. rebuilt are the rows of the set.
func differing(t *testing.T, live *ledger.Ledger, set *Set, old *ledger.Batch, rebuilt map[string]uint64) {
	t.Helper()
	c, err := set.Compare(t.Context(), []Stretch{{old.Incarnation, 0, 2000}}, false)
	if err != nil || c.Tables != len(ledger.Tables()) {
		t.Fatalf("%d tables were compared, %v", c.Tables, err)
	}
	left, inSet := ledgertest.Counts(t, live), make(map[string]uint64)
	for _, d := range c.Differences {
		if d.LiveRows != left[d.Table] || d.Differing != d.LiveRows+d.RebuiltRows {
			t.Errorf("%+v, and the live table has %d rows", d, left[d.Table])
		}
		if delete(left, d.Table); d.RebuiltRows > 0 {
			inSet[d.Table] = d.RebuiltRows
		}
	}
	if len(left) > 0 || !maps.Equal(inSet, rebuilt) {
		t.Errorf("no difference in %v, and the set has %v, want %v", left, inSet, rebuilt)
	}
}

// TestALaterVersionsSwapIsLeftAlone: a version that does not know the database does not finish a
// swap in it.
func TestALaterVersionsSwapIsLeftAlone(t *testing.T) {
	t.Parallel()
	live, set, _, _ := rebuiltBeside(t)
	steps := 2
	func() {
		defer func() { recover() }()
		_ = set.Swap(t.Context(), func(string) {
			if steps--; steps == 0 {
				panic("cut off")
			}
		})
	}()
	if err := ledgertest.DB(live).Conn.Exec(t.Context(), "INSERT INTO migrations (version, name) VALUES (9999, '9999_later')"); err != nil {
		t.Fatal(err)
	}
	before := ledgertest.Counts(t, live)
	if _, err := Of(live).Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "change 9999") {
		t.Errorf("migrated a database of a later version: %v", err)
	}
	if got := ledgertest.Counts(t, live); !reflect.DeepEqual(got, before) {
		t.Errorf("the tables hold %v, before %v", got, before)
	}
	if finished, err := Of(live).FinishSwap(t.Context()); !finished || err != nil {
		t.Errorf("the swap was finished before: %v, %v", finished, err)
	}
}

// TestALateExchangeFindsNothing: a process stops before an exchange, and another process finishes
// the swap. The first process then does not exchange the tables back.
func TestALateExchangeFindsNothing(t *testing.T) {
	t.Parallel()
	live, set, _, fresh := rebuiltBeside(t)
	before, err := set.find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { recover() }()
		_ = set.Swap(t.Context(), func(string) { panic("stopped") })
	}()
	s, err := set.state(t.Context())
	if err != nil || s.name != stateSwapping {
		t.Fatalf("the state is %+v, %v", s, err)
	}
	if err := set.exchange(t.Context(), "events", s.ids["events"]); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"events", before[s.ids["events"]].name} {
		err := set.exec(t.Context(), "exchange", chsql.Params{"table": chsql.Text("events"), "other": chsql.Text(name)})
		if !ledger.NoTable(err) {
			t.Errorf("a late exchange ended with %v", err)
		}
	}
	tables, err := set.find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for id, at := range tables { // the name that the replaced table has now is the last one of the rebuilt table
		if at.database == set.name && strings.HasPrefix(at.name, "events_") && id != s.ids["events"] {
			if err := set.fence(t.Context(), at.name, "events_late", s.ids["events"]); err == nil {
				t.Error("a late fence holds the replaced table")
			}
		}
	}
	if _, err := Of(live).FinishSwap(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := ledgertest.Counts(t, live); !reflect.DeepEqual(got, fresh.Rows()) {
		t.Errorf("the tables hold %v, the rebuilt batch %v", got, fresh.Rows())
	}
}

func TestSetIsOpenedForItsOwnStreamsAndColumns(t *testing.T) {
	t.Parallel()
	live, set, old, _ := rebuiltBeside(t)
	again, err := Of(live).Beside(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for _, c := range []struct {
		starts []Start
		want   bool
	}{
		{[]Start{{"CTX", old.Incarnation, 7}}, true},
		{[]Start{{"CTX", uuid.New(), 1}}, false},
		{[]Start{{"CTX", old.Incarnation, 1}, {"CTX_1", uuid.New(), 1}}, false},
	} {
		if ok, err := again.Open(t.Context(), c.starts); ok != c.want || err != nil {
			t.Errorf("%v: opened is %v, %v", c.starts, ok, err)
		}
	}
	if err := ledgertest.DB(live).Conn.Exec(t.Context(), "INSERT INTO migrations VALUES (9999, 'later')"); err != nil {
		t.Fatal(err)
	}
	if ok, err := again.Open(t.Context(), []Start{{"CTX", old.Incarnation, 1}}); ok || err != nil {
		t.Errorf("opened a set of other columns: %v, %v", ok, err)
	}
	if err := set.Swap(t.Context(), nil); err != ErrOtherColumns {
		t.Errorf("swapped a set of other columns: %v", err)
	}
}

func TestEveryTableOfTheProjectorIsRebuilt(t *testing.T) {
	t.Parallel()
	live, set, _, _ := rebuiltBeside(t)
	tables, err := set.find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	own := []string{"migrations", "definitions", "checkpoints", "reintroductions", "rechecks", "prices", "limits"} // belong to no stream
	for _, at := range tables {
		if at.database != set.own || slices.Contains(own, at.name) {
			continue
		}
		if !slices.Contains(swapped(), at.name) {
			t.Errorf("%s is not rebuilt", at.name)
		}
		if n := ledgertest.Count(t, live, "SELECT count() FROM system.tables WHERE database = '"+set.Database()+"' AND name = '"+at.name+"'"); n != 1 {
			t.Errorf("%s is not among the rebuilt tables", at.name)
		}
	}
}
