package verify

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
)

// lacking makes a sealed turn of 9 facts. The producer or the log has lost some of the facts. The
// result is the verdict about completeness.
func lacking(t *testing.T, without func(sequence int64) bool, more ...schema.Fact) *Verdict {
	t.Helper()
	r := newRig(t, filepath.Join(t.TempDir(), "pack"), false, pack.Scope{Kind: pack.ScopeTurn, Tenant: "acme", Session: "s-1", Turn: "turn-1"}, 1)
	s := newSession(t, 1)
	r.begin()
	s.turnOf(9, func(e *schema.Event) {
		if !without(*e.Sequence) {
			r.record(e)
		}
	})
	for _, fact := range more {
		r.record(s.event(fact))
	}
	r.finish()
	return r.verify().Of(Completeness)
}

// TestMissingFactsAreNamed: the verdict names the missing sequences of a sealed scope.
func TestMissingFactsAreNamed(t *testing.T) {
	t.Parallel()
	for want, gone := range map[string][]int64{
		"sequence 1 of":   {1},
		"sequence 4–5 of": {4, 5},
		"sequence 8 of":   {8},
	} {
		v := lacking(t, func(n int64) bool { return n >= gone[0] && n <= gone[len(gone)-1] })
		if v.Status != Failed || len(v.Faults) != 1 || !strings.Contains(v.Faults[0].Reason, want) || !strings.Contains(v.Faults[0].Reason, "is missing") {
			t.Errorf("%s: %+v", want, v)
		}
	}
	if v := lacking(t, func(int64) bool { return false }); v.Status != Passed {
		t.Errorf("%+v", v)
	}
	// The envelope itself has the last sequence of its scope.
	if v := lacking(t, func(n int64) bool { return n == 9 }); v.Status != Open {
		t.Errorf("%+v", v)
	}
	for gap, want := range map[[2]int64]string{{3, 3}: "the beginning of the scope", {4, 5}: "in the middle of the scope", {7, 9}: "the end of the scope", {3, 9}: "the whole scope"} {
		if got := position([][2]int64{{3, 5}, {7, 9}}, gap); got != want {
			t.Errorf("%v is %s", gap, got)
		}
	}
}

// TestDroppedFacts: facts that a producer dropped make the answer open, without a fault.
func TestDroppedFacts(t *testing.T) {
	t.Parallel()
	dropped := &schema.FactsDropped{DropID: "d", Count: new(int64(1)), Reason: "full", Sequences: []schema.SequenceRanges{{Source: testSource, Ranges: [][2]int64{{4, 4}}}}}
	v := lacking(t, func(n int64) bool { return n == 4 }, dropped)
	if v.Status != Open || !strings.Contains(fmt.Sprint(v.Notes), "dropped facts within the sequences 4") {
		t.Errorf("%+v", v)
	}
}

// TestNoSequences: a scope without sequences is never complete.
func TestNoSequences(t *testing.T) {
	t.Parallel()
	r := newRig(t, filepath.Join(t.TempDir(), "pack"), false, pack.Scope{Kind: pack.ScopeTurn, Tenant: "acme", Session: "s-1", Turn: "turn-1"}, 1)
	s := newSession(t, 1)
	s.seals = false
	r.begin()
	s.turnOf(5, func(e *schema.Event) {
		e.Sequence = nil
		r.record(e)
	})
	s.ids.ContextID = "ctx"
	seal := s.event(&schema.EnvelopeCreated{ContextID: "ctx", Scope: "turn", Lifecycle: "injected"})
	seal.Sequence = nil
	r.record(seal)
	r.finish()
	if v := r.verify().Of(Completeness); v.Status != Open || !strings.Contains(v.Detail+fmt.Sprint(v.Notes), "does not number its facts") {
		t.Errorf("%+v", v)
	}
}

// TestRanges compares the set of sequences with a map.
func TestRanges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		set, model := &ranges{}, make(map[int64]bool)
		for range rapid.IntRange(0, 20).Draw(t, "adds") {
			first := rapid.Int64Range(0, 60).Draw(t, "first")
			last := first + rapid.Int64Range(-2, 6).Draw(t, "length")
			set.addRange(first, last)
			for n := first; n <= last; n++ {
				model[n] = true
			}
			from, to := rapid.Int64Range(0, 60).Draw(t, "from"), rapid.Int64Range(0, 60).Draw(t, "to")
			var want int64
			for n := from; n <= to; n++ {
				if !model[n] {
					want++
				}
			}
			rest := set.without(from, to)
			if count(rest) != want {
				t.Fatalf("%v of %d–%d is %v, want %d", set.list, from, to, rest, want)
			}
			for _, r := range rest {
				for n := r[0]; n <= r[1]; n++ {
					if model[n] || n < from || n > to {
						t.Fatalf("%d is in %v of %d–%d", n, rest, from, to)
					}
				}
			}
		}
	})
	set := &ranges{}
	set.addRange(0, 1<<63-1)
	if rest := set.without(5, 1<<63-1); rest != nil {
		t.Error(rest)
	}
}

// TestConservation: a broken selection is found over all of its parts. A single broken fact is
// refused at recording, so only parts can hide the error.
func TestConservation(t *testing.T) {
	t.Parallel()
	ref := func(ids ...string) (list []schema.Ref) {
		for _, id := range ids {
			list = append(list, schema.Ref(id))
		}
		return list
	}
	part := func(n int64, candidates []schema.Ref, selected, omitted string) *schema.SelectionCompleted {
		f := &schema.SelectionCompleted{Selection: schema.Selection{SelectionID: "sel", SurfaceID: "surface", Candidates: candidates, Part: new(n), Parts: new(int64(2))}}
		if selected != "" {
			f.Selected = []schema.Candidate{{ItemRef: schema.Ref(selected)}}
		}
		if omitted != "" {
			f.Omitted = []schema.Candidate{{ItemRef: schema.Ref(omitted), Reason: schema.OmitStale}}
		}
		return f
	}
	for want, parts := range map[string][2]*schema.SelectionCompleted{
		"":                                  {part(1, ref("a"), "a", ""), part(2, ref("b"), "", "b")},
		`neither selected nor omitted: "c"`: {part(1, ref("a", "c"), "a", ""), part(2, ref("b"), "", "b")},
		`both selected and omitted: "a"`:    {part(1, ref("a"), "a", ""), part(2, ref("a"), "", "a")},
		`selected or omitted, but not a candidate: "d"`: {part(1, ref("a"), "a", ""), part(2, nil, "", "d")},
		"only 1 of 2 parts":                             {part(1, ref("a"), "a", ""), nil},
	} {
		c := conservation{found: newFindings(9), open: make(map[uint64]*choice)}
		for i, f := range parts {
			if f != nil {
				c.decided(&schema.Event{}, f, int64(i+1))
			}
		}
		c.finish(&verifier{found: c.found})
		v := c.found.by[Conservation]
		if text := fmt.Sprint(v.Faults); want == "" && v.Total > 0 || !strings.Contains(text, want) {
			t.Errorf("want %q: %+v", want, v)
		}
	}
	// Two concurrent attempts use the same id, and each has a separate decision.
	c := conservation{found: newFindings(9), open: make(map[uint64]*choice)}
	for i, one := range []struct {
		attempt string
		fact    *schema.SelectionCompleted
	}{
		{"1", part(1, ref("a"), "a", "")}, {"2", part(1, ref("a"), "", "a")},
		{"1", part(2, ref("b"), "", "b")}, {"2", part(2, ref("b"), "b", "")},
	} {
		c.decided(&schema.Event{Correlation: schema.Correlation{AttemptID: one.attempt}}, one.fact, int64(i+1))
	}
	c.finish(&verifier{found: c.found})
	if v := c.found.by[Conservation]; v.Total > 0 {
		t.Errorf("two attempts: %+v", v)
	}
}
