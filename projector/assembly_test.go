package projector

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/identity"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/leak"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// The order in which a batch receives its messages does not change its range and rows. A
// redaction's values are withheld across the parts.
func TestPartsOfABatchAreOneBatch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var messages []*streamio.Message
	for i := range 30 {
		e := projectortest.Event(i/2, i%3/2) // each is sent twice, some with another digest
		messages = append(messages, projectortest.At(uint64(i+1), e.Binary()))
		if i%7 == 0 {
			messages[i].Data = messages[i].Data[1:]
		}
	}
	for _, id := range []int{4, 17} {
		messages[id] = projectortest.At(uint64(id+1), projectortest.Foreign(100+id, `{"note":"`+projectortest.Secret+`"}`).Binary())
	}
	cut := func(n int) batch {
		p := f.projector()
		keys, err := leak.ReadKeys(projectortest.Keys(t))
		f.must(err)
		p.withheld, p.seen = leak.NewValues(keys), identity.New(1<<20)
		for _, v := range projectortest.Withheld(t, projectortest.Secret) {
			p.withheld.Learn(v)
		}
		a, err := p.begin(t.Context(), nil)
		f.must(err)
		for first := 0; first < len(messages); first += n {
			f.must(p.add(t.Context(), a, messages[first:min(first+n, len(messages))]))
		}
		b, err := p.complete(t.Context(), a)
		f.must(err)
		return b
	}
	want := cut(len(messages))
	if rows := want.rows.Rows(); rows["events"] == 0 || rows["duplicates"] == 0 || rows["quarantine"] < 7 {
		t.Fatalf("the batch is not of every kind: %v", rows)
	}
	for _, n := range []int{1, 2, 7} {
		if got := cut(n); !got.Same(want.Range) || !reflect.DeepEqual(got.rows.Rows(), want.rows.Rows()) || !reflect.DeepEqual(got.firsts, want.firsts) {
			t.Errorf("in parts of %d: %v and %v, want %v and %v", n, got.Range, got.rows.Rows(), want.Range, want.rows.Rows())
		}
	}
}

// nothingKnown is a ledger without identities.
type nothingKnown struct{ store }

func (nothingKnown) Lookup(context.Context, []uint64) ([]ledger.Known, error) { return nil, nil }

// A redaction that is refused for its id withholds nothing, independently of the end of its
// batch. Otherwise later messages would be deleted.
func TestARefusedRedactionWithholdsNothing(t *testing.T) {
	t.Parallel()
	const other = "another value"
	messages := []*streamio.Message{
		projectortest.At(1, projectortest.Redaction(t, 1, projectortest.Secret).Binary()), projectortest.At(2, projectortest.Redaction(t, 1, other).Binary()),
		projectortest.At(3, projectortest.Foreign(3, `{"note":"`+other+`"}`).Binary()), projectortest.At(4, projectortest.Foreign(4, `{"note":"`+projectortest.Secret+`"}`).Binary()),
	}
	for n := 1; n <= len(messages); n++ {
		p := newBuilder(&shared{store: nothingKnown{}})
		p.config.Keys = projectortest.Keys(t)
		keys, err := leak.ReadKeys(p.config.Keys)
		if err != nil {
			t.Fatal(err)
		}
		p.withheld, p.seen = leak.NewValues(keys), identity.New(1<<20)
		a, err := p.begin(t.Context(), nil)
		for part := range slices.Chunk(messages, n) {
			if err == nil {
				err = p.add(t.Context(), a, part)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := p.complete(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		if got := reintroduced(b.quarantined); len(got) != 1 || got[0].StreamSeq != 4 {
			t.Errorf("in parts of %d: %v are refused for a value, want message 4", n, got)
		}
	}
}

// The memory of a batch with a turn leaves its stream with the turn, also if the memory held a batch without a turn
// before. A later batch does not look at it.
func TestMemoryLeavesWithItsTurn(t *testing.T) {
	t.Parallel()
	p := newBuilder(&shared{store: nothingKnown{}})
	p.withheld, p.seen = new(leak.Values), identity.New(1<<20)
	build := func(n int, grown bool) batch {
		t.Helper()
		a, err := p.begin(t.Context(), nil)
		if err == nil {
			err = p.add(t.Context(), a, []*streamio.Message{projectortest.At(uint64(n), projectortest.Event(n, 0).Binary())})
		}
		if err != nil {
			t.Fatal(err)
		}
		a.grown = grown
		b, err := p.complete(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		b.land()
		return b
	}
	small := build(1, false)
	if p.model != small.rows {
		t.Fatal("a batch without a turn is no model")
	}
	if large := build(2, true); large.rows != small.rows || p.model != nil {
		t.Errorf("the memory is the same: %v; the builder looks at it: %v", large.rows == small.rows, p.model == large.rows)
	}
}
