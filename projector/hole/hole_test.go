package hole

import (
	"iter"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// numbered returns a message with the producer's sequence, at a time of the stream.
func numbered(sequence int64, after time.Duration, fact schema.Fact) decode.Event {
	e := &schema.Event{Source: "urn:p", Sequence: &sequence, Correlation: schema.Correlation{SessionID: "s"}}
	return decode.Event{Message: &streamio.Message{Position: ledger.Position{RecordedAt: projectortest.Stored.Add(after)}}, Envelope: e, Fact: fact}
}

func TestGapsThatStayAreLost(t *testing.T) {
	t.Parallel()
	dropped := &schema.FactsDropped{Sequences: []schema.SequenceRanges{{Source: "urn:p", Ranges: [][2]int64{{13, 14}}}}}
	key := producerSession{"default", "urn:p", "s"}
	for name, c := range map[string]struct {
		messages []decode.Event
		want     []Lost
	}{
		"none":                {[]decode.Event{numbered(7, 0, nil), numbered(8, time.Hour, nil)}, nil},
		"before the first":    {[]decode.Event{numbered(7, 0, nil), numbered(3, 0, nil), numbered(8, time.Hour, nil)}, nil},
		"late":                {[]decode.Event{numbered(7, 0, nil), numbered(9, 0, nil), numbered(8, time.Second, nil), numbered(10, time.Hour, nil)}, nil},
		"still awaited":       {[]decode.Event{numbered(7, 0, nil), numbered(9, 0, nil), numbered(10, holePatience, nil)}, nil},
		"lost":                {[]decode.Event{numbered(7, 0, nil), numbered(10, 0, nil), numbered(11, time.Hour, nil)}, []Lost{{key, 8, 9}}},
		"lost but for one":    {[]decode.Event{numbered(1, 0, nil), numbered(5, 0, nil), numbered(3, 0, nil), numbered(6, time.Hour, nil)}, []Lost{{key, 2, 2}, {key, 4, 4}}},
		"declared as dropped": {[]decode.Event{numbered(12, 0, nil), numbered(15, 0, dropped), numbered(16, time.Hour, nil)}, nil},
	} {
		var g Finder
		var got []Lost
		for _, m := range c.messages {
			got = append(got, g.Observe([]decode.Event{m})...)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: lost %v, want %v", name, got, c.want)
		}
	}
}

// Messages in any order: the missing sequences are lost.
func TestWhatIsLostIsWhatDidNotCome(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		came := rapid.SliceOfN(rapid.Int64Range(1, 60), 1, 80).Draw(t, "sequences")
		var g Finder
		g.Observe([]decode.Event{numbered(0, 0, nil)})
		var lost []int64
		for _, l := range append(g.Observe(each(came)), g.Observe([]decode.Event{numbered(slices.Max(came)+1, time.Hour, nil)})...) {
			for s := l.First; s <= l.Last; s++ {
				lost = append(lost, s)
			}
		}
		slices.Sort(lost)
		var want []int64
		for s := range slices.Max(came) {
			if s > 0 && !slices.Contains(came, s) {
				want = append(want, s)
			}
		}
		if !slices.Equal(lost, want) || g.Lost != uint64(len(want)) {
			t.Fatalf("lost %v (%d), want %v", lost, g.Lost, want)
		}
	})
}

// A gap that closes is no loss, independently of the time and the parts of the stream.
func TestAGapThatClosesIsNoLoss(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const last = 40
		var g Finder
		var said uint64
		order := rapid.Permutation(each(slices.Collect(upTo(last)))).Draw(t, "order")
		var minutes time.Duration
		for len(order) > 0 {
			part := order[:rapid.IntRange(1, len(order)).Draw(t, "part")]
			order = order[len(part):]
			for _, m := range part {
				minutes += time.Duration(rapid.IntRange(0, 4).Draw(t, "minutes")) * time.Minute
				m.Position.RecordedAt = projectortest.Stored.Add(minutes)
			}
			for _, l := range g.Observe(part) {
				said += uint64(l.Last - l.First + 1)
			}
			if said != g.Lost+g.Found {
				t.Fatalf("said that %d are lost, counts %d and %d that came after all", said, g.Lost, g.Found)
			}
		}
		g.Observe([]decode.Event{numbered(last+1, minutes+time.Hour, nil)})
		if g.Lost != 0 {
			t.Fatalf("all came, and %d are lost", g.Lost)
		}
	})
}

func upTo(last int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for s := int64(1); s <= last && yield(s); s++ {
		}
	}
}

func each(sequences []int64) (list []decode.Event) {
	for _, s := range sequences {
		list = append(list, numbered(s, 0, nil))
	}
	return list
}
