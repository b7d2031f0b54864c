package producer_test

import (
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// TestSelectionSaysWhy: each candidate, selected or not, has the runtime's scores. The
// selection has the query, the intent, the actor and the rationale. Fields that the runtime
// did not give are absent.
//
// Source: seed 001 (context proves which facts were available and why).
func TestSelectionSaysWhy(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := opened(t, client, producer.Run{Session: "s"}).Turn("t", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 100}})
	call := turn.Call("c")
	call.Selection = producer.Selection{Query: "refunds", Intent: "answer", Actor: "retriever", Rationale: "newest first"}
	good := window.Item{ID: "good", Kind: window.KindRetrieved, Tokens: 60, Priority: 2, Score: new(0.75), Signals: map[string]float64{"bm25": 12.5, "recency": 0}}
	poor := window.Item{ID: "poor", Kind: window.KindRetrieved, Tokens: 60, Score: new(0.0)}
	unscored := window.Item{ID: "unscored", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 5}
	if _, err := call.Fit(t.Context(), []window.Item{good, poor, unscored}, window.DefaultPolicy(), nil); err != nil {
		t.Fatal(err)
	}
	f := producertest.One[*schema.SelectionCompleted](t, rec.Events())
	if f.Query != "refunds" || f.Intent != "answer" || f.ActorRef != "retriever" || f.Rationale != "newest first" {
		t.Errorf("%+v", f)
	}
	if c := f.Selected[0]; c.ItemRef != "good" || c.Score == nil || *c.Score != 0.75 || !reflect.DeepEqual(c.Signals, good.Signals) {
		t.Errorf("%+v", c)
	}
	if c := f.Omitted[0]; c.ItemRef != "poor" || c.Score == nil || *c.Score != 0 || c.Signals != nil {
		t.Errorf("%+v", c)
	}
	if c := f.Selected[1]; c.ItemRef != "unscored" || c.Score != nil || c.Signals != nil {
		t.Errorf("%+v", c)
	}
	for _, bad := range []window.Item{{ID: "x", Score: new(math.NaN())}, {ID: "x", Signals: map[string]float64{"s": math.Inf(1)}}} {
		if _, err := turn.Call("bad").Fit(t.Context(), []window.Item{bad}, window.DefaultPolicy(), nil); !errors.Is(err, window.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestScoresInParts scores more candidates than one event can hold.
func TestScoresInParts(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	call := turnOf(t, client, "s").Call("c")
	call.Selection.Rationale = "all of them"
	items := make([]window.Item, 3_000)
	for i := range items {
		items[i] = window.Item{ID: strconv.Itoa(i), Kind: window.KindRetrieved, Signals: map[string]float64{strings.Repeat("s", 400): 1e-300}}
	}
	if _, err := call.Fit(t.Context(), items, window.DefaultPolicy(), nil); err != nil {
		t.Fatal(err)
	}
	parts := producertest.Facts[*schema.SelectionCompleted](rec.Events())
	if len(parts) < 2 || parts[0].Rationale == "" || parts[1].Rationale != "" {
		t.Errorf("%d parts", len(parts))
	}
}
