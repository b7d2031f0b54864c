package projector

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

func TestEveryMessageGetsOneOutcome(t *testing.T) {
	t.Parallel()
	tenants := rapid.SampledFrom([]string{"acme", "zeta"}) // who share sources and ids
	rapid.Check(t, func(t *rapid.T) {
		// Some identities are in the ledger, from this stream or another, with equal or other
		// data. Others are uncommitted rows of the same positions.
		known := make(map[decode.Identity]ledger.Known)
		for id := range 6 {
			position := ledger.Position{Incarnation: projectortest.Incarnation, StreamSeq: uint64(id + 1)}
			switch rapid.IntRange(0, 3).Draw(t, "known") {
			case 0:
				continue
			case 1:
				position.Incarnation, position.StreamSeq = uuid.Nil, 1_000_000
			}
			e := projectortest.Event(id, rapid.IntRange(0, 1).Draw(t, "known variant"))
			e.Tenant = tenants.Draw(t, "known tenant")
			known[decode.Identity{Tenant: e.Tenant, Source: e.Source, ID: e.ID}] = ledger.Known{Source: e.Source, EventID: e.ID, Position: position, Digest: e.Digest()}
		}
		var messages []decode.Event
		model := make(map[decode.Identity][32]byte) // first digest
		for id, k := range known {
			model[id] = k.Digest
		}
		want := map[string]uint64{}
		for seq := range uint64(rapid.IntRange(1, 40).Draw(t, "messages")) {
			seq += 101
			if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
				messages = append(messages, decode.One(projectortest.At(seq, projectortest.Poison().Draw(t, "poison"))))
				want["quarantine"]++
				continue
			}
			e := projectortest.Event(rapid.IntRange(0, 9).Draw(t, "id"), rapid.IntRange(0, 1).Draw(t, "variant"))
			e.Tenant = tenants.Draw(t, "tenant")
			typed := true
			if rapid.IntRange(0, 9).Draw(t, "type") == 0 {
				e.Type, typed = "dev.ctxledger.context.invented.later.v1", false
			}
			m := e.Binary()
			if rapid.Bool().Draw(t, "structured") {
				m, _ = e.Structured()
			}
			if rapid.IntRange(0, 9).Draw(t, "forged") == 0 {
				m.Subject = projectortest.On("umbrella", e).Subject
				messages = append(messages, decode.One(projectortest.At(seq, m)))
				want["quarantine"]++
				continue
			}
			messages = append(messages, decode.One(projectortest.At(seq, m)))
			id := decode.Identity{Tenant: e.Tenant, Source: e.Source, ID: e.ID}
			first, again := model[id]
			switch {
			case !again:
				model[id] = e.Digest()
				want["events"]++
				if typed {
					want["log_items"]++
				}
			case first == e.Digest():
				want["duplicates"]++
			default:
				want["quarantine"]++
			}
		}
		r := ledger.Range{Incarnation: projectortest.Incarnation, First: 101, Last: 100 + uint64(len(messages)), Messages: uint64(len(messages))}
		before := maps.Clone(known)
		batch := &ledger.Batch{Range: r}
		refused := build(batch, messages, known).quarantined
		if got := batch.Rows(); !reflect.DeepEqual(got, want) {
			t.Fatalf("rows %v, want %v", got, want)
		}
		if n := want["events"] + want["duplicates"] + want["quarantine"]; n != r.Messages || uint64(len(refused)) != want["quarantine"] {
			t.Fatalf("%d outcomes of %d messages, %d refused", n, r.Messages, len(refused))
		}
		again := &ledger.Batch{Range: r}
		build(again, messages, known)
		if !reflect.DeepEqual(batch, again) || !maps.Equal(known, before) {
			t.Fatal("the same arguments give another batch")
		}
	})
}

// Written and uncommitted rows are derived again unchanged.
func TestBuildAgainAfterItsOwnRowsWereWritten(t *testing.T) {
	t.Parallel()
	var messages []decode.Event
	for i, e := range []*schema.Event{projectortest.Event(1, 0), projectortest.Event(2, 0), projectortest.Event(1, 0), projectortest.Event(2, 9), projectortest.Event(3, 0)} {
		messages = append(messages, decode.One(projectortest.At(uint64(i+1), e.Binary())))
	}
	r := ledger.Range{Incarnation: projectortest.Incarnation, First: 1, Last: 5, Messages: 5}
	fresh := &ledger.Batch{Range: r}
	build(fresh, messages, nil)
	known := make(map[decode.Identity]ledger.Known)
	for _, m := range []decode.Event{messages[0], messages[1], messages[4]} {
		known[m.Identity()] = ledger.Known{Position: m.Position, Digest: m.Digest}
	}
	again := &ledger.Batch{Range: r}
	build(again, messages, known)
	if !reflect.DeepEqual(fresh, again) {
		t.Errorf("derived %v at first and %v again", fresh.Rows(), again.Rows())
	}
}

func TestDigestCoversEverything(t *testing.T) {
	t.Parallel()
	base := func() *streamio.Message {
		return &streamio.Message{
			Subject: "ctx.a", Header: map[string][]string{"A": {"1", "2"}, "B": {""}}, Data: []byte("data"),
			Position: ledger.Position{Incarnation: projectortest.Incarnation, StreamSeq: 7, RecordedAt: projectortest.Stored},
		}
	}
	want := streamio.RangeOf([]*streamio.Message{base()})
	if again := streamio.RangeOf([]*streamio.Message{base()}); again != want {
		t.Fatal("the same message has two digests")
	}
	for name, change := range map[string]func(*streamio.Message){
		"subject":       func(m *streamio.Message) { m.Subject = "ctx.b" },
		"data":          func(m *streamio.Message) { m.Data[3]++ },
		"data cut":      func(m *streamio.Message) { m.Data = m.Data[:3] },
		"no data":       func(m *streamio.Message) { m.Data = nil },
		"sequence":      func(m *streamio.Message) { m.Position.StreamSeq++ },
		"time":          func(m *streamio.Message) { m.Position.RecordedAt = projectortest.Stored.Add(1) },
		"header value":  func(m *streamio.Message) { m.Header["A"][1] = "3" },
		"header order":  func(m *streamio.Message) { m.Header["A"] = []string{"2", "1"} },
		"header joined": func(m *streamio.Message) { m.Header["A"] = []string{"12"} },
		"header name":   func(m *streamio.Message) { m.Header["C"] = m.Header["B"]; delete(m.Header, "B") },
		"header gone":   func(m *streamio.Message) { delete(m.Header, "B") },
		"header moved":  func(m *streamio.Message) { m.Header["A"], m.Header["B"] = m.Header["B"], m.Header["A"] },
		"huge header":   func(m *streamio.Message) { m.Header["A"][0] = strings.Repeat("x", 1<<20) },
	} {
		m := base()
		change(m)
		if streamio.RangeOf([]*streamio.Message{m}).Digest == want.Digest {
			t.Errorf("another %s has the same digest", name)
		}
	}
}

// build places messages in an empty batch. known holds the known events with their identities.
// build is a pure function: the same arguments give the same outcome.
func build(batch *ledger.Batch, messages []decode.Event, known map[decode.Identity]ledger.Known) outcome {
	o := outcome{rows: batch, firsts: make(firsts)}
	for _, m := range messages {
		o.place(m, known)
	}
	return o
}
