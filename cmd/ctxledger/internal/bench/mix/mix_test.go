package mix

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
)

// many is enough for every rare type to occur.
const many = 40_000

// mixed is a list for tests that only read: 4 * many events, or the first of them in short mode.
var mixed = sync.OnceValue(func() []*schema.Event {
	if testing.Short() {
		return events(1, many)
	}
	return events(1, 4*many)
})

func events(seed uint64, n int) []*schema.Event {
	g, list := New(seed), make([]*schema.Event, n)
	for i := range list {
		list[i] = g.Next()
	}
	return list
}

func TestEveryEventIsValid(t *testing.T) {
	t.Parallel()
	for i, e := range mixed()[:many] {
		if _, violations := schema.Validate(e); len(violations) > 0 {
			t.Fatalf("event %d, %s: %v\n%s", i, e.Type, violations, e.Data)
		}
	}
}

func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	all := func(seed uint64) []byte {
		var b bytes.Buffer
		for _, e := range events(seed, 3000) {
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

func TestEveryTypeOccurs(t *testing.T) {
	t.Parallel()
	count := make(map[schema.Type]int)
	for _, e := range mixed()[:many] {
		count[e.EventType()]++
	}
	for _, typ := range schema.Types() {
		if count[typ] == 0 && typ != schema.TypeRedactionRevoked { // the operator's, of a single redaction
			t.Errorf("no %s among %d events", typ, many)
		}
	}
}

// TestRatiosAreTheMeasured compares the share and the size of frequent types with the measured
// values, for each kind of session.
func TestRatiosAreTheMeasured(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("counts many events: run without -short")
	}
	type sum struct{ n, bytes int }
	live, imported := make(map[schema.Type]sum), make(map[schema.Type]sum)
	for _, e := range mixed() {
		of := live
		if e.RuntimeID == "claude-code" {
			of = imported
		}
		s := of[e.EventType()]
		of[e.EventType()] = sum{s.n + 1, s.bytes + len(e.Data)}
	}
	compare := func(kind string, m measure, of map[schema.Type]sum, share float64, length int) {
		total := 0
		for _, s := range of {
			total += s.n
		}
		s := of[m.Type]
		got := 1000 * float64(s.n) / float64(total)
		t.Logf("%-9s %-30s %6.1f of %6.1f per thousand, %5d of %5d bytes", kind, m.Type, got, share, s.bytes/max(s.n, 1), length)
		if share < 20 {
			return
		}
		if math.Abs(got/share-1) > 0.25 {
			t.Errorf("%s %s: %.1f of a thousand, measured were %.1f", kind, m.Type, got, share)
		}
		if mean := float64(s.bytes) / float64(s.n); math.Abs(mean/float64(length)-1) > 0.25 {
			t.Errorf("%s %s: %.0f bytes in the mean, measured were %d", kind, m.Type, mean, length)
		}
	}
	for _, m := range measured {
		compare("live", m, live, m.LiveShare, m.LiveBytes)
		compare("imported", m, imported, m.ImportedShare, m.ImportedBytes)
	}
}

// TestSequencesAreContiguous allows only the gaps that the next fact declares as dropped facts.
func TestSequencesAreContiguous(t *testing.T) {
	t.Parallel()
	next, dropped := make(map[string]int64), 0
	for _, e := range mixed()[:many] {
		if want := next[e.Source] + 1; *e.Sequence != want {
			named, err := json.Marshal([]schema.SequenceRanges{{Source: e.Source, Ranges: [][2]int64{{want, *e.Sequence - 1}}}})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(e.Data, named) {
				t.Fatalf("%s: sequence %d after %d, which is not explained by %s", e.Source, *e.Sequence, want-1, e.Data)
			}
			dropped++
		}
		next[e.Source] = *e.Sequence
	}
	if len(next) < 2*concurrent || dropped == 0 {
		t.Errorf("%d sessions, %d of them with dropped facts", len(next), dropped)
	}
}

// TestItemsAreThereBeforeTheyAreChosen checks the references of selections, assemblies and
// compactions within their sessions.
func TestItemsAreThereBeforeTheyAreChosen(t *testing.T) {
	t.Parallel()
	there := make(map[string]map[string]bool)
	selections, compactions := 0, 0
	for _, e := range mixed()[:many] {
		known := there[e.SessionID]
		if known == nil {
			known = make(map[string]bool)
			there[e.SessionID] = known
		}
		fact, _ := schema.Validate(e)
		var refs []schema.Ref
		switch f := fact.(type) {
		case *schema.ItemAdded:
			known[f.ItemID] = true
		case *schema.SummaryCreated:
			known[f.SummaryID] = true
		case *schema.SelectionCompleted:
			selections++
			refs = f.Candidates
		case *schema.CompactionCompleted:
			compactions++
			refs = f.SourceItemRefs
		case *schema.AssemblyCreated:
			for _, b := range f.OrderedBlocks {
				refs = append(refs, b.ItemRefs...)
			}
		}
		for _, r := range refs {
			if !known[r.ID()] {
				t.Fatalf("%s of %s refers to %s before it is there; there are %v", e.Type, e.SessionID, r, slices.Sorted(maps.Keys(known)))
			}
		}
	}
	if selections == 0 || compactions == 0 {
		t.Errorf("%d selections and %d compactions: nothing was checked", selections, compactions)
	}
}

// TestRedactionsAreByTheTenantsKey: a projector with [Keys] can search for every withheld value.
func TestRedactionsAreByTheTenantsKey(t *testing.T) {
	t.Parallel()
	rings, err := Keys()
	if err != nil {
		t.Fatal(err)
	}
	keys, redactions := make(map[string]string), 0
	for _, r := range rings {
		keys[r.Tenant] = r.Current().ID
	}
	for _, e := range mixed()[:many] {
		fact, _ := schema.Validate(e)
		redaction, ok := fact.(*schema.RedactionApplied)
		if !ok {
			continue
		}
		redactions++
		if len(redaction.Fingerprints) != 1 || redaction.Fingerprints[0].KeyID != keys[e.Tenant] {
			t.Fatalf("%s withholds %v, its key is %s", e.Tenant, redaction.Fingerprints, keys[e.Tenant])
		}
	}
	if redactions == 0 {
		t.Error("nothing is redacted")
	}
}

func BenchmarkNext(b *testing.B) {
	g, total := New(1), 0
	b.ReportAllocs()
	for b.Loop() {
		total += len(g.Next().Data)
	}
	b.ReportMetric(float64(total)/float64(b.N), "data-bytes/event")
}
