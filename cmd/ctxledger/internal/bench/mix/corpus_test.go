package mix

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/schema"
)

func corpusOf(seed uint64, n int) []*schema.Event {
	c := NewCorpus(CorpusConfig{Seed: seed, Events: n, Tenants: 5, Span: 24 * time.Hour})
	var list []*schema.Event
	for e := c.Next(); e != nil; e = c.Next() {
		list = append(list, e)
	}
	return list
}

// drawn is a corpus for tests that only read: 3 * many events, or the first of them in short mode.
var drawn = sync.OnceValue(func() []*schema.Event {
	if testing.Short() {
		return corpusOf(2, many)
	}
	return corpusOf(2, 3*many)
})

func TestCorpusIsValidAndInOrder(t *testing.T) {
	t.Parallel()
	list := corpusOf(1, many)
	if len(list) != many {
		t.Fatalf("%d events, want %d", len(list), many)
	}
	last := begin
	for i, e := range list {
		if _, violations := schema.Validate(e); len(violations) > 0 {
			t.Fatalf("event %d, %s: %v\n%s", i, e.Type, violations, e.Data)
		}
		if e.Time.Before(last) {
			t.Fatalf("event %d happened at %v, the one before at %v", i, e.Time, last)
		}
		last = e.Time
	}
	if span := last.Sub(begin); span < 12*time.Hour || span > 48*time.Hour {
		t.Errorf("the corpus spans %v, asked for was a day", span)
	}
}

func TestCorpusIsTheSameForTheSameSeed(t *testing.T) {
	t.Parallel()
	all := func(seed uint64) []byte {
		var b bytes.Buffer
		for _, e := range corpusOf(seed, 3000) {
			text, err := e.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			b.Write(text)
		}
		return b.Bytes()
	}
	if first := all(7); !bytes.Equal(first, all(7)) {
		t.Error("seed 7 gave other bytes the second time")
	} else if bytes.Equal(first, all(8)) {
		t.Error("seeds 7 and 8 gave the same bytes")
	}
}

// TestCorpusHasAHeavyTail: the longest tenth of the sessions has most of the events. The first
// tenant has more events than the last.
func TestCorpusHasAHeavyTail(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("counts many events: run without -short")
	}
	sessions, byTenant, types := make(map[string]int), make(map[string]int), make(map[schema.Type]bool)
	list := drawn()
	for _, e := range list {
		sessions[e.SessionID]++
		byTenant[e.Tenant]++
		types[e.EventType()] = true
	}
	var sizes []int
	for _, n := range sessions {
		sizes = append(sizes, n)
	}
	slices.Sort(sizes)
	longest := 0
	for _, n := range sizes[len(sizes)*9/10:] {
		longest += n
	}
	t.Logf("%d sessions, %.0f events in the mean, median %d, longest %d; the longest tenth has %.2f", len(sizes),
		float64(len(list))/float64(len(sizes)), sizes[len(sizes)/2], sizes[len(sizes)-1], float64(longest)/float64(len(list)))
	if part := float64(longest) / float64(len(list)); part < 0.35 {
		t.Errorf("the longest tenth of %d sessions has %.2f of the events", len(sizes), part)
	}
	if len(byTenant) != 5 || byTenant["acme"] < 2*byTenant["tenant-5"] {
		t.Errorf("events by tenant: %v", byTenant)
	}
	if len(types) != len(schema.Types())-1 { // without the operator's revocations
		t.Errorf("%d types of %d", len(types), len(schema.Types()))
	}
}

// TestMarkTellsSessionsApart: no two sessions share an event id, source or run, and
// each of these has the mark.
func TestMarkTellsSessionsApart(t *testing.T) {
	t.Parallel()
	owner := make(map[string]string)
	for _, e := range drawn()[:many] {
		for _, id := range []string{e.ID, e.Source, e.RunID, e.SessionID} {
			if !strings.Contains(id, Mark) {
				t.Fatalf("%s of session %s has no mark", id, e.SessionID)
			}
			if other, there := owner[id]; there && other != e.SessionID {
				t.Fatalf("sessions %s and %s have %s both", other, e.SessionID, id)
			}
			owner[id] = e.SessionID
		}
	}
}

// TestCachesBreakAsOftenAsMeasured compares the frequency of calls with a cold cache with the
// real logs. There, 12 of 207 calls with a predecessor came after a pause.
func TestCachesBreakAsOftenAsMeasured(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("counts many events: run without -short")
	}
	calls, idle := 0, 0
	for _, e := range drawn() {
		fact, _ := schema.Validate(e)
		if f, ok := fact.(*schema.UsageRecorded); ok && e.RuntimeID == "claude-code" {
			calls++
			if *f.GapSeconds > 300 {
				idle++
			}
		}
	}
	if share := float64(idle) / float64(calls); share < 0.03 || share > 0.08 {
		t.Errorf("%d of %d calls came after an idle time, measured were 0.058", idle, calls)
	}
}
