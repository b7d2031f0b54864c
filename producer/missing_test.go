package producer_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/schema"
)

var question = schema.Missing{
	MissingID: "exit-codes", Question: "Where are the exit codes documented?", RequestedFrom: "user",
	RequestedAction: "name the page", UserSummary: "I could not find the page.",
}

// A gap from its detection to its resolution.
func ExampleTurn_Missing() {
	ctx, rec := context.Background(), new(producertest.Recorder)
	client, _ := producer.NewClient(producer.Config{}, rec) // a runtime has producer.Connect
	run, _ := client.Open(ctx, producer.Run{Session: "s_42"})
	turn := run.Turn("turn_7", producer.Model{Name: "gpt-4o"})
	gap, err := turn.Missing(ctx, schema.Missing{
		MissingID: "exit-codes", Question: "Where are the exit codes documented?", RequestedFrom: "user",
		RequestedAction: "name the page", UserSummary: "I could not find the page.",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	// … the owner answers …
	err = gap.Resolve(ctx, "doc:exit-codes.md")
	fmt.Println(err, gap.Resolve(ctx, "doc:again.md"))
	for _, kind := range rec.Events().Turn("turn_7").Types() {
		fmt.Println(kind)
	}
	// Output:
	// <nil> end the gap as resolved: the gap is closed
	// context.missing.detected
	// context.missing.requested
	// context.missing.resolved
}

func TestGapNeedsWhatMakesItAnswerable(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := opened(t, client, producer.Run{Session: "s"}).Turn("t", producer.Model{})
	before := len(rec.Events())
	for name, cut := range map[string]func(*schema.Missing){
		"question": func(m *schema.Missing) { m.Question = "" }, "requested_from": func(m *schema.Missing) { m.RequestedFrom = "" },
		"requested_action": func(m *schema.Missing) { m.RequestedAction = "" }, "user_summary": func(m *schema.Missing) { m.UserSummary = "" },
	} {
		m := question
		cut(&m)
		gap, err := turn.Missing(t.Context(), m)
		var bad *producer.InvalidError
		if !errors.As(err, &bad) || bad.Field != name || gap != nil {
			t.Errorf("without %s: %v", name, err)
		}
	}
	if n := len(rec.Events()); n != before {
		t.Errorf("%d facts of refused gaps", n-before)
	}
}

func TestLifeOfAGap(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	run := opened(t, client, producer.Run{Session: "s"})
	for name, end := range map[schema.MissingStatus]func(*producer.Gap) error{
		schema.StatusResolved: func(g *producer.Gap) error { return g.Resolve(t.Context(), "doc:1", "doc:2") },
		schema.StatusDeclined: func(g *producer.Gap) error { return g.Withdraw(t.Context(), schema.StatusDeclined) },
		schema.StatusExpired:  func(g *producer.Gap) error { return g.Withdraw(t.Context(), schema.StatusExpired) },
	} {
		for _, late := range []bool{false, true} {
			id := fmt.Sprint(name, " late ", late)
			turn := run.Turn(id, producer.Model{})
			m := question
			m.MissingID, m.Status, m.ResolutionRefs = id, schema.StatusResolved, schema.Refs("doc:0") // the caller must not set these
			gap, err := turn.Missing(t.Context(), m)
			if err != nil || gap.ID() != id {
				t.Fatal(err)
			}
			if err := errors.Join(gap.Resolve(t.Context()), gap.Withdraw(t.Context(), schema.StatusResolved), gap.Withdraw(t.Context(), "")); !errors.Is(err, producer.ErrInvalid) {
				t.Errorf("%s: %v", id, err)
			}
			if late {
				if _, err := turn.Seal(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := end(gap); err != nil {
				t.Errorf("%s: %v", id, err)
			}
			if err := errors.Join(gap.Resolve(t.Context(), "doc:3")); !errors.Is(err, producer.ErrGapClosed) {
				t.Errorf("%s ended twice: %v", id, err)
			}
			if err := gap.Withdraw(t.Context(), schema.StatusExpired); !errors.Is(err, producer.ErrGapClosed) {
				t.Errorf("%s ended twice: %v", id, err)
			}
			var statuses []schema.MissingStatus
			for _, e := range rec.Events() {
				if e.Subject != id {
					continue
				}
				switch f := e.Fact.(type) {
				case *schema.MissingDetected:
					statuses = append(statuses, f.Status)
				case *schema.MissingRequested:
					statuses = append(statuses, f.Status)
				case *schema.MissingResolved:
					statuses = append(statuses, f.Status)
					if (e.TurnID == "") != late || (len(f.ResolutionRefs) == 2) != (name == schema.StatusResolved) {
						t.Errorf("%s is recorded as %+v of turn %q", id, f, e.TurnID)
					}
				}
			}
			if got := fmt.Sprint(statuses); got != fmt.Sprint([]schema.MissingStatus{schema.StatusOpen, schema.StatusRequested, name}) {
				t.Errorf("%s: %s", id, got)
			}
		}
	}
}

// TestGapEndsOnce: many callers end one gap, and a full queue keeps it open.
func TestGapEndsOnce(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := opened(t, client, producer.Run{Session: "s"}).Turn("t", producer.Model{})
	gap, err := turn.Missing(t.Context(), question)
	if err != nil {
		t.Fatal(err)
	}
	rec.Fail(publish.ErrQueueFull)
	if err := gap.Resolve(t.Context(), "doc:1"); !errors.Is(err, publish.ErrQueueFull) {
		t.Errorf("a full queue: %v", err)
	}
	rec.Fail(nil)
	var ended atomic.Int32
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if gap.Resolve(t.Context(), "doc:1") == nil {
				ended.Add(1)
			}
		})
	}
	wait.Wait()
	if n := len(producertest.Facts[*schema.MissingResolved](rec.Events())); n != 1 || ended.Load() != 1 {
		t.Errorf("%d ends recorded, %d told", n, ended.Load())
	}
}

// TestGapIsSentAtOnce: the request is queued although the stream is unavailable, and the
// caller learns both facts.
func TestGapIsSentAtOnce(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := opened(t, client, producer.Run{Session: "s"}).Turn("t", producer.Model{})
	away := errors.New("the stream is away")
	rec.Fail(away)
	gap, err := turn.Missing(t.Context(), question)
	if !errors.Is(err, away) || gap == nil {
		t.Fatalf("%v, %v", gap, err)
	}
	if err := gap.Resolve(t.Context(), "doc:1"); err != nil {
		t.Error(err)
	}
	rec.Fail(nil)
}

// TestGapGrantsNothing: the methods of a gap take and return no grants, the contract
// refuses a gap about permissions, and the run's grants do not change.
func TestGapGrantsNothing(t *testing.T) {
	t.Parallel()
	kind := reflect.TypeFor[*producer.Gap]()
	for i := range kind.NumMethod() {
		method := kind.Method(i)
		for j := range method.Type.NumIn() {
			checkGrantless(t, method.Name, method.Type.In(j))
		}
		for j := range method.Type.NumOut() {
			checkGrantless(t, method.Name, method.Type.Out(j))
		}
	}
	client, rec := producertest.New(t)
	run := opened(t, client, producer.Run{Session: "s", Grants: grant.Set{"app/a"}})
	turn := run.Turn("t", producer.Model{})
	before := len(rec.Events())
	m := question
	m.CandidateSources = []map[string]any{{"permission": "granted"}}
	var violations schema.Violations
	if gap, err := turn.Missing(t.Context(), m); !errors.As(err, &violations) || gap != nil || len(rec.Events()) != before {
		t.Errorf("a gap that grants: %v", err)
	}
	gap, err := turn.Missing(t.Context(), question)
	if err != nil {
		t.Fatal(err)
	}
	if err := gap.Resolve(t.Context(), "grant:app"); err != nil {
		t.Fatal(err)
	}
	if got := run.Grants(); len(got) != 1 || got[0] != "app/a" {
		t.Errorf("the run has %v", got)
	}
	for _, e := range rec.Events()[before:] {
		if strings.HasPrefix(string(e.Fact.EventType()), "context.grant.") {
			t.Errorf("a gap became %s", e.Fact.EventType())
		}
	}
}

func checkGrantless(t *testing.T, method string, kind reflect.Type) {
	t.Helper()
	if strings.Contains(kind.PkgPath(), "/grant") || kind == reflect.TypeFor[*producer.RunContext]() {
		t.Errorf("Gap.%s has to do with %s", method, kind)
	}
}
