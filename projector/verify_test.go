package projector

import (
	"testing"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

func messagesOf(sequences ...uint64) (list []*streamio.Message) {
	for _, seq := range sequences {
		list = append(list, projectortest.At(seq, projectortest.Event(int(seq), 0).Binary()))
	}
	return list
}

func TestReadsAs(t *testing.T) {
	t.Parallel()
	all := messagesOf(1, 2, 3)
	second, third := all[1].Position, all[2].Position
	other := messagesOf(1, 2, 3)
	other[1].Data = append(other[1].Data, ' ')
	erased := messagesOf(1, 2, 3)
	erased[1] = &streamio.Message{Position: second, Erased: new(streamio.ErasedLeaf)}
	onlyErased := erased[1:2]
	plain, masked := streamio.RangeOf(all), streamio.RangeOf(streamio.WithPlaces(all, []ledger.Position{second}))
	for name, c := range map[string]struct {
		committed ledger.Range
		messages  []*streamio.Message
		gone      []ledger.Position
		left      int
		same      bool
	}{
		"as it was":                       {plain, all, nil, 0, true},
		"masked, and not deleted yet":     {masked, all, []ledger.Position{second}, 0, true},
		"counted, and refused since":      {plain, all, []ledger.Position{second}, 3, true},
		"masked, and another refused":     {masked, all, []ledger.Position{second, third}, 3, true},
		"deleted, and another refused":    {masked, messagesOf(1, 3), []ledger.Position{second, third}, 2, true},
		"masked, and another message":     {masked, other[:2], []ledger.Position{third}, 2, false},
		"masked, and deleted":             {masked, messagesOf(1, 3), []ledger.Position{second}, 0, true},
		"deleted before it was committed": {streamio.RangeOf(messagesOf(1, 3)), messagesOf(1, 3), []ledger.Position{second}, 2, true},
		"another message":                 {plain, other, nil, 3, false},
		"one deleted by hand":             {plain, messagesOf(1, 3), nil, 2, false},
		"one erased":                      {plain, erased, nil, 2, false},
		"only erased messages":            {plain, onlyErased, nil, 0, true},
		"nothing left":                    {plain, nil, nil, 0, true},
	} {
		left, same := readsAs(c.committed, c.messages, c.gone)
		if len(left) != c.left || same != c.same {
			t.Errorf("%s: %d left, same %v, want %d, %v", name, len(left), same, c.left, c.same)
		}
	}
}

func TestContradicts(t *testing.T) {
	t.Parallel()
	m := messagesOf(7)
	e := decode.One(m[0])
	for name, c := range map[string]struct {
		traces map[uint64]ledger.Trace
		want   bool
	}{
		"no row":                 {nil, false},
		"a row of the event":     {map[uint64]ledger.Trace{7: {RecordedAt: e.Position.RecordedAt, Digest: e.Digest}}, false},
		"a row without a digest": {map[uint64]ledger.Trace{7: {RecordedAt: e.Position.RecordedAt}}, false},
		"recorded later":         {map[uint64]ledger.Trace{7: {RecordedAt: e.Position.RecordedAt.Add(1), Digest: e.Digest}}, true},
		"another digest":         {map[uint64]ledger.Trace{7: {RecordedAt: e.Position.RecordedAt, Digest: [32]byte{1}}}, true},
	} {
		if got := contradicts(m, c.traces); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestRepairs(t *testing.T) {
	t.Parallel()
	some, whole := ledger.Lack{Table: "events", Sequences: []uint64{1}}, ledger.Lack{Table: "items", Sequences: []uint64{1, 2}, Whole: true}
	for name, c := range map[string]struct {
		try     int
		lacking []ledger.Lack
		want    repair
	}{
		"nothing lacks":              {0, nil, nothingLacks},
		"nothing lacks in the end":   {2, nil, nothingLacks},
		"a table has none":           {0, []ledger.Lack{some, whole}, writeTables},
		"a table has some":           {0, []ledger.Lack{some}, writeRows},
		"the server knows the token": {1, []ledger.Lack{whole}, writeRows},
		"somebody removes them":      {2, []ledger.Lack{some}, notTaken},
	} {
		if got := repairOf(c.try, c.lacking); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
