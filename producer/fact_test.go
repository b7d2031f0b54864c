package producer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// keep is a transport that keeps messages in memory.
type keep struct {
	mu       sync.Mutex // guards messages
	messages []schema.Message
}

func (k *keep) Send(_ context.Context, messages ...schema.Message) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.messages = append(k.messages, messages...)
	return nil
}

func (*keep) Store(context.Context) (publish.Stored, error) { return publish.InStream, nil }
func (*keep) Flush(context.Context) error                   { return nil }
func (*keep) Err() error                                    { return nil }

// keptBy returns a client with a clock that does not advance.
func keptBy(t interface{ Fatal(...any) }, k *keep, options ...func(*Config)) *Client {
	c := Config{Instance: "test", Clock: func() time.Time { return time.Unix(1, 0) }}
	for _, option := range options {
		option(&c)
	}
	client, err := NewClient(c, k)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestSameTurnSameBytes records a turn over random candidates twice, and once with more
// room. The two recordings differ only in the events' ids, and more room omits no more
// tokens.
func TestSameTurnSameBytes(t *testing.T) {
	t.Parallel()
	guard := guarding(t, "secret-7")
	rapid.Check(t, func(t *rapid.T) {
		items := make([]window.Item, rapid.IntRange(0, 40).Draw(t, "items"))
		kinds := []window.Kind{window.KindFixed, window.KindRetrieved, window.KindMessage, window.KindToolCall, window.KindToolResult}
		for i := range items {
			items[i] = window.Item{
				ID: fmt.Sprint(rapid.SampledFrom([]string{"i", "ï\n"}).Draw(t, "id"), "-", i), Kind: rapid.SampledFrom(kinds).Draw(t, "kind"),
				Layer: rapid.SampledFrom([]string{"", "a", "secret-7"}).Draw(t, "layer"), Role: rapid.SampledFrom([]string{"user", "assistant"}).Draw(t, "role"),
				Tokens: rapid.IntRange(0, 100).Draw(t, "tokens"), Priority: rapid.IntRange(0, 2).Draw(t, "priority"),
			}
		}
		room := window.Budget{MaxTokens: rapid.SampledFrom([]int{1, 100, 500, 5_000}).Draw(t, "max")}
		first, second := recorded(t, items, room, guard), recorded(t, items, room, guard)
		if !reflect.DeepEqual(first, second) {
			t.Fatalf("the same turn gives other bytes:\n%v\n%v", first, second)
		}
		room.MaxTokens += rapid.IntRange(1, 500).Draw(t, "more")
		if less, more := omittedTokens(t, first), omittedTokens(t, recorded(t, items, room, guard)); more > less {
			t.Fatalf("%d tokens left out, and %d with more room", less, more)
		}
	})
}

// recorded returns all messages of a turn of one call, without the events' ids.
func recorded(t *rapid.T, items []window.Item, room window.Budget, options ...func(*Config)) []schema.Message {
	k := new(keep)
	ctx := context.Background()
	run, err := keptBy(t, k, options...).Open(ctx, Run{ID: "r", Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	turn := run.Turn("t", Model{Name: "gpt-5", Window: room})
	call := turn.Call("c")
	plan, err := call.Fit(ctx, items, window.DefaultPolicy(), nil)
	if err == nil && len(plan.Window) > 0 {
		asm, err := call.Assemble(ctx, plan)
		if err = errors.Join(err, call.Inject(ctx, asm, schema.InjectMessageHistory), call.Usage(ctx, plan, schema.ProviderUsage{})); err != nil {
			t.Fatal(err)
		}
	}
	if _, sealErr := turn.Seal(ctx); sealErr != nil || err != nil && !errors.Is(err, window.ErrContextLimit) {
		t.Fatal(err, sealErr)
	}
	for _, m := range k.messages {
		maps.DeleteFunc(m.Header, func(name string, _ []string) bool { return name == "ce-id" || name == schema.MsgIDHeader })
	}
	return k.messages
}

// omittedTokens returns the sum of the tokens that the selection omitted.
func omittedTokens(t *rapid.T, messages []schema.Message) (n int64) {
	for _, m := range messages {
		e := schema.Event{Type: m.Header["ce-type"][0], Data: m.Data}
		fact, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if selection, ok := fact.(*schema.SelectionCompleted); ok {
			for _, c := range selection.Omitted {
				n += *c.Tokens
			}
		}
	}
	return n
}

// TestNoFacts records no fact, a nil pointer and an empty fact of each type, through the
// client, a run and a turn. Each is refused with a typed error, and uses neither an event
// nor a sequence.
func TestNoFacts(t *testing.T) {
	t.Parallel()
	facts := map[string]schema.Fact{"nothing": nil}
	for _, kind := range schema.Types() {
		empty := kind.New()
		facts[string(kind)+", empty"] = empty
		facts[string(kind)+", nil"] = reflect.Zero(reflect.TypeOf(empty)).Interface().(schema.Fact)
	}
	for name, fact := range facts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := new(keep)
			client := keptBy(t, k, guarding(t))
			run := open(t, client, Run{Session: "s"})
			turn := run.Turn("t", small)
			before := len(k.messages)
			ids := schema.Correlation{SessionID: "s"}
			for by, record := range map[string]func() error{
				"client": func() error { _, err := client.Record(t.Context(), fact, ids); return err },
				"run":    func() error { return run.Record(t.Context(), fact) },
				"turn":   func() error { return turn.Record(t.Context(), &schema.ItemRemoved{ItemID: "i"}, fact) },
			} {
				var refused schema.Violations
				if err := record(); !errors.As(err, &refused) && !errors.Is(err, ErrInvalid) {
					t.Errorf("%s: %v", by, err)
				}
			}
			if len(k.messages) != before {
				t.Errorf("%d events came of it", len(k.messages)-before)
			}
			e, err := client.Record(t.Context(), &schema.ItemRemoved{ItemID: "i"}, ids)
			if err != nil || *e.Sequence != int64(before)+1 {
				t.Errorf("the next event is %+v, %v", e, err)
			}
		})
	}
}
