package producertest_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// answer is the runtime under test: it sends the given content to a small model.
func answer(ctx context.Context, client *producer.Client, knows ...producer.Content) error {
	run, err := client.Open(ctx, producer.Run{ID: "run-1", Session: "s"})
	if err != nil {
		return err
	}
	turn := run.Turn("turn-1", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 40, ReservedOutput: 10}})
	var items []window.Item
	for _, content := range knows {
		item, err := turn.Add(ctx, content)
		if err != nil {
			return err
		}
		items = append(items, item)
	}
	call := turn.Call("call-1")
	plan, err := call.Fit(ctx, items, window.DefaultPolicy(), nil)
	if err != nil {
		return err
	}
	asm, err := call.Assemble(ctx, plan)
	if err != nil {
		return err
	}
	if err := call.Inject(ctx, asm, schema.InjectMessageHistory); err != nil {
		return err
	}
	_, err = turn.Seal(ctx)
	return err
}

var (
	question = producer.Content{ID: "question", Layer: "user", Role: window.RoleUser, Kind: window.KindMessage, Text: "What is our refund policy?"}
	manual   = producer.Content{ID: "manual", Layer: "memory", Role: window.RoleSystem, Kind: window.KindRetrieved, Text: "Refunds within 30 days."}
	gossip   = producer.Content{ID: "gossip", Layer: "memory", Role: window.RoleSystem, Kind: window.KindRetrieved, Priority: -1,
		Text: "Somebody in the forum once said that refunds take a while, and that asking twice helps, or asking on a Monday."}
)

// Which content did the runtime omit from the window, and why?
func TestAnswerLeavesOutWhatMattersLeast(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	if err := answer(t.Context(), client, manual, gossip, question); err != nil {
		t.Fatal(err)
	}
	selection := producertest.One[*schema.SelectionCompleted](t, rec.Events().Call("call-1"))
	if len(selection.Omitted) != 1 || selection.Omitted[0].ItemRef.ID() != "gossip" || selection.Omitted[0].Reason != schema.OmitBudgetLimit {
		t.Errorf("omitted: %+v", selection.Omitted)
	}
}

// Are all facts of a turn recorded, in order?
func TestAnswerRecordsAWholeTurn(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	if err := answer(t.Context(), client, question); err != nil {
		t.Fatal(err)
	}
	rec.Events().Turn("turn-1").Want(t,
		schema.TypeItemAdded, schema.TypeLogAppended,
		schema.TypeSurfaceCreated, schema.TypeSelectionCompleted, schema.TypeBudgetApplied,
		schema.TypeAssemblyCreated, schema.TypeInjectionApplied, schema.TypeEnvelopeCreated,
	)
}

// Does the runtime return an error when its facts cannot be stored?
func TestAnswerWhenTheStreamIsAway(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	away := errors.New("the cable is out")
	rec.Fail(away)
	if err := answer(t.Context(), client, question); !errors.Is(err, away) {
		t.Errorf("the turn was sealed: %v", err)
	}
}

// Without a test, a recorder shows the facts that a runtime records.
func Example() {
	var rec producertest.Recorder
	client, err := producer.NewClient(producer.Config{}, &rec)
	if err != nil {
		log.Fatal(err)
	}
	if err := answer(context.Background(), client, question); err != nil {
		log.Fatal(err)
	}
	fmt.Print(rec.Events().Turn("turn-1"))
	// Output:
	//   2  context.item.added           question          turn-1
	//   3  context.log.appended         question          turn-1
	//   4  context.surface.created      surface:call-1    turn-1
	//   5  context.selection.completed  selection:call-1  turn-1
	//   6  context.budget.applied       budget:call-1     turn-1
	//   7  context.assembly.created     assembly:call-1   turn-1
	//   8  context.injection.applied    inject:call-1     turn-1
	//   9  context.envelope.created     ctx:turn-1        turn-1
}
