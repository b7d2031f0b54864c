package answer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/queries"
)

// list is an answer in memory. Its rows end with err.
type list struct {
	rows   [][]any
	at     int
	err    error
	closed bool
}

func (l *list) Columns() []read.ResultColumn {
	return []read.ResultColumn{{Name: "cost"}, {Name: "at"}, {Name: "session_id"}, {Name: "n"}}
}
func (l *list) Next() bool    { l.at++; return l.at <= len(l.rows) }
func (l *list) Values() []any { return l.rows[l.at-1] }
func (l *list) Err() error    { return l.err }
func (l *list) Close() error  { l.closed = true; return nil }

// TestMergedRowsAreSorted deals sorted rows to answers at random. Merged, they are in their order again,
// up to the limit.
func TestMergedRowsAreSorted(t *testing.T) {
	t.Parallel()
	keys := []queries.Key{{Column: "cost", Descending: true, Absolute: true}, {Column: "at", Descending: true}, {Column: "session_id"}, {Column: "n"}}
	began := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	var sorted [][]any // by hand: large costs first, NULL last; then late times first, NULL last
	for _, cost := range []any{int64(-9), int64(3), int64(0), nil} {
		for _, at := range []any{began.Add(time.Hour), began, nil} {
			for _, session := range []any{"a", "b"} {
				for _, n := range []any{uint64(1), uint64(20)} {
					sorted = append(sorted, []any{cost, at, session, n})
				}
			}
		}
	}
	for range 100 {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 1))
		lists := []*list{{}, {}, {}}
		for _, row := range sorted {
			to := lists[random.IntN(len(lists))]
			to.rows = append(to.rows, row)
		}
		answers := []read.Rows{lists[0], lists[1], lists[2]}
		limit := random.IntN(len(sorted) + 9)
		m, err := newMerged(answers, keys, bounds{limit: uint64(limit), limited: true})
		if err != nil {
			t.Fatal(err)
		}
		var got [][]any
		for m.Next() {
			got = append(got, m.Values())
		}
		if want := sorted[:min(limit, len(sorted))]; fmt.Sprint(got) != fmt.Sprint(want) || m.Err() != nil {
			t.Fatalf("seed %d, limit %d: %v\n got %v\nwant %v", seed, limit, m.Err(), got, want)
		}
		if err := m.Close(); err != nil || slices.ContainsFunc(lists, func(l *list) bool { return !l.closed }) {
			t.Errorf("the answers are not closed: %v", err)
		}
	}
}

// TestMergeIsWholeOrAnError: an answer that fails at any row, and more rows than are allowed, are errors.
func TestMergeIsWholeOrAnError(t *testing.T) {
	t.Parallel()
	keys := []queries.Key{{Column: "session_id"}}
	row := func(session string) []any { return []any{nil, nil, session, nil} }
	broken := errors.New("the shard ended")
	for name, test := range map[string]struct {
		lists []read.Rows
		most  bounds
		want  int
	}{
		"at its first row":  {[]read.Rows{&list{rows: [][]any{row("a")}}, &list{err: broken}}, bounds{}, -1},
		"at its second row": {[]read.Rows{&list{rows: [][]any{row("a"), row("c")}}, &list{rows: [][]any{row("b")}, err: broken}}, bounds{}, 2},
		"too many rows":     {[]read.Rows{&list{rows: [][]any{row("a")}}, &list{rows: [][]any{row("b")}}}, bounds{allowed: 1}, 1},
	} {
		m, err := newMerged(test.lists, keys, test.most)
		if test.want < 0 {
			if !errors.Is(err, broken) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for m.Next() {
			n++
		}
		if m.Err() == nil || n > test.want {
			t.Errorf("%s: %d rows, %v", name, n, m.Err())
		}
	}
	if _, err := newMerged([]read.Rows{&list{}}, []queries.Key{{Column: "other"}}, bounds{}); err == nil {
		t.Error("a key that is no column is accepted")
	}
}

// TestNewest: the last time counts, on whichever shard it is.
func TestNewest(t *testing.T) {
	t.Parallel()
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	for want, times := range [][]time.Time{{at(3), at(2), {}}, {at(2), at(3), at(1)}, {{}, at(2), at(3)}} {
		if got := newest(times); got != want {
			t.Errorf("the newest of %v is %d, want %d", times, got, want)
		}
	}
	if got := newest(make([]time.Time, 2)); got != 0 {
		t.Error("without a time:", got)
	}
}
