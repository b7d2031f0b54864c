package producer_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// A compaction ends in one of three ways, and Run records the actual end for any behavior
// of the summarizer.
func ExampleCall_Compact() {
	ctx := context.Background()
	rec := new(producertest.Recorder)
	client, err := producer.NewClient(producer.Config{}, rec)
	if err != nil {
		log.Fatal(err)
	}
	run, err := client.Open(ctx, producer.Run{Session: "s"})
	if err != nil {
		log.Fatal(err)
	}
	call := run.Turn("turn-9", producer.Model{Name: "gpt-5", Window: window.Budget{MaxTokens: 64_000}}).Call("call-40")
	items := []window.Item{ // as Turn.Add returned them
		{ID: "system", Kind: window.KindFixed, Tokens: 12_000},
		{ID: "u1", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 20},
		{ID: "a1", Kind: window.KindMessage, Role: window.RoleAssistant, Tokens: 14_000},
		{ID: "u2", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 15},
	}
	source, err := window.Oldest(items, 1)
	if err != nil {
		log.Fatal(err)
	}
	comp, err := call.Compact(ctx, producer.Compaction{Window: items, Source: source, Trigger: schema.TriggerSessionLength})
	if err != nil {
		log.Fatal(err)
	}
	items, err = comp.Run(ctx, func(context.Context, []window.Item) (producer.Summary, error) {
		return producer.Summary{ // the model's summary
			Content:   producer.Content{ID: "summary-1", CallID: "call-40s", Text: "The user asked for a plan; one was made."},
			LossNotes: []string{"the plan's wording"},
		}, nil
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, it := range items {
		fmt.Println(it.ID, it.Tokens)
	}
	fmt.Println(rec.Events().Call("call-40").Types())
	// Output:
	// system 12000
	// summary-1 11
	// u2 15
	// [context.compaction.started context.compaction.completed]
}

// spoken returns the window of a conversation that is in the item log.
func spoken(t testing.TB, turn *producer.Turn) []window.Item {
	t.Helper()
	long := strings.Repeat("one two three four five six seven eight nine ten ", 20)
	return add(t, turn, nil,
		producer.Content{ID: "system", Role: "system", Kind: window.KindFixed, Text: "Be brief.", Pinned: true},
		say("u1", "user", "Read it."),
		producer.Content{ID: "t1", Role: "assistant", Kind: window.KindToolCall, Text: "read", ToolCallID: "x"},
		producer.Content{ID: "r1", Role: "tool", Kind: window.KindToolResult, Text: long, ToolCallID: "x"},
		producer.Content{ID: "thought", Role: "assistant", Kind: window.KindMessage, ItemType: producer.ItemReasoning, Text: long},
		say("a1", "assistant", "Done: "+long),
		say("u2", "user", "Go on."),
	)
}

var replaced = []string{"u1", "t1", "r1", "thought", "a1"}

func begin(t testing.TB, call *producer.Call, items []window.Item) *producer.OpenCompaction {
	t.Helper()
	comp, err := call.Compact(t.Context(), producer.Compaction{Window: items, Source: replaced})
	if err != nil {
		t.Fatal(err)
	}
	return comp
}

func short(id string) producer.Summary {
	return producer.Summary{Content: producer.Content{ID: id, Text: "It was read.", CallID: "call-s"}, LossNotes: []string{"numbers"}}
}

// TestActxArCompact001 is ACTX-AR-COMPACT-001: a summary has its source window, refers to
// it, and is not an answer. Old reasoning is not repeated.
func TestActxArCompact001(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := turnOf(t, client, "s")
	call := turn.Call("c")
	items := spoken(t, turn)
	comp := begin(t, call, items)
	todo := add(t, turn, nil, producer.Content{ID: "todo", Role: "system", Kind: window.KindRetrieved, Text: "- go on"})[0]
	again := short("again")
	again.Reinjected = []window.Reinjected{{Kind: "reasoning", Item: items[4]}}
	if _, err := comp.Complete(t.Context(), again); !errors.Is(err, window.ErrInvalid) {
		t.Errorf("old reasoning is put back: %v", err)
	}
	s := short("summary")
	s.Coverage, s.OpenQuestions, s.Validation = map[string]any{"share": 1}, []string{"which file"}, "passed"
	s.Reinjected = []window.Reinjected{{Kind: "todo", Item: todo}}
	after, err := comp.Complete(t.Context(), s)
	if err != nil || !slices.Equal(ids(after), []string{"system", "summary", "todo", "u2"}) {
		t.Fatalf("%v, %v", ids(after), err)
	}
	if _, err := turn.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := rec.Events()
	done := producertest.One[*schema.CompactionCompleted](t, events)
	w := done.SourceWindow
	if !slices.Equal(schema.RefIDs(done.SourceItemRefs), replaced) || w.FirstItemRef != "u1" || w.LastItemRef != "a1" || *w.FirstPosition != 0 || *w.LastPosition != 4 ||
		*w.ItemCount != 5 || w.ThreadID != "s" || done.SummaryRef != "summary" || done.ReplacementPolicy != "replace_window" || done.SummarizerCallID != "call-s" {
		t.Errorf("%+v, %+v", done, w)
	}
	if !slices.Equal(schema.RefIDs(done.RetainedTailRefs), []string{"u2"}) || done.Reinjected[0].Kind != "todo" || done.Reinjected[0].Ref != "todo" ||
		*done.TokensBefore <= *done.TokensAfter || *done.TokensAfter != sizes(after) || *done.TokensBefore != sizes(items) || len(done.LossNotes) != 1 {
		t.Errorf("%+v", done)
	}
	summary := producertest.One[*schema.SummaryCreated](t, events)
	if summary.SummaryID != "summary" || !slices.Equal(schema.RefIDs(summary.SourceItemRefs), replaced) || *summary.CoversThroughPosition != 4 || summary.Content != "" {
		t.Errorf("%+v", summary)
	}
	added := producertest.Facts[*schema.ItemAdded](events)
	item := added[len(added)-1]
	if item.ItemID != "summary" || item.ContentMode != schema.ContentSummary || item.ContextKind != "computed_summary" || item.Role == window.RoleAssistant {
		t.Errorf("%+v", item)
	}
	for _, e := range events {
		if strings.Contains(string(e.Data), "one two three") {
			t.Errorf("%s holds a copy of the source", e.Fact.EventType())
		}
	}
	if seal := producertest.One[*schema.EnvelopeCreated](t, events); !slices.Equal(schema.RefIDs(seal.CompactionRefs), []string{"compaction:c"}) {
		t.Errorf("%+v", seal.CompactionRefs)
	}
}

func sizes(items []window.Item) (n int64) {
	for _, it := range items {
		n += int64(it.Tokens)
	}
	return n
}

// TestCompactionLife makes random calls in any order. A compaction has one start and at
// most one end, the first that succeeded. Without completion, no fact of the summary is
// recorded.
func TestCompactionLife(t *testing.T) {
	t.Parallel()
	ends := []schema.Type{schema.TypeCompactionCompleted, schema.TypeCompactionFailed, schema.TypeCompactionDiscarded}
	rapid.Check(t, func(rt *rapid.T) {
		client, rec := producertest.New(t)
		turn := turnOf(t, client, "s")
		comp := begin(t, turn.Call("c"), spoken(t, turn))
		var ended schema.Type
		long := short("long")
		long.Text = strings.Repeat("one two three ", 1000)
		expect := func(kind schema.Type, wants error, err error) {
			switch {
			case ended != "":
				wants = producer.ErrCompactionEnded
			case wants == nil:
				ended = kind
			}
			if !errors.Is(err, wants) || wants == nil && err != nil {
				rt.Fatalf("%s after %q: %v", kind, ended, err)
			}
		}
		invalid := func(err error) {
			if !errors.Is(err, producer.ErrInvalid) && !errors.Is(err, window.ErrInvalid) {
				rt.Fatal(err)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"complete": func(*rapid.T) {
				_, err := comp.Complete(t.Context(), short("summary"))
				expect(ends[0], nil, err)
			},
			"fail": func(*rapid.T) { expect(ends[1], nil, comp.Fail(t.Context(), "the model was away")) },
			"discard": func(*rapid.T) {
				expect(ends[2], nil, comp.Discard(t.Context(), short("summary"), "the user stopped it"))
			},
			"no reason": func(*rapid.T) {
				invalid(comp.Fail(t.Context(), ""))
				invalid(comp.Discard(t.Context(), short("summary"), ""))
			},
			"no summary": func(*rapid.T) {
				_, err := comp.Complete(t.Context(), producer.Summary{})
				invalid(err)
				_, err = comp.Complete(t.Context(), producer.Summary{Content: producer.Content{ID: "s", Text: " \n"}})
				invalid(err)
				_, err = comp.Complete(t.Context(), producer.Summary{Content: producer.Content{ID: "u2", Text: "x"}})
				invalid(err)
			},
			"too long": func(*rapid.T) {
				if _, err := comp.Complete(t.Context(), long); !errors.Is(err, window.ErrNotSmaller) {
					rt.Fatal(err)
				}
			},
			"refused": func(*rapid.T) {
				rec.Fail(publish.ErrQueueFull)
				_, err := comp.Complete(t.Context(), short("summary"))
				rec.Fail(nil)
				if !errors.Is(err, publish.ErrQueueFull) && !errors.Is(err, producer.ErrCompactionEnded) {
					rt.Fatal(err)
				}
			},
			"": func(*rapid.T) {
				events := rec.Events()
				if n := len(events.Of(schema.TypeCompactionStarted)); n != 1 {
					rt.Fatalf("%d starts", n)
				}
				got := events.Of(ends...).Types()
				if ended == "" && len(got) != 0 || ended != "" && !slices.Equal(got, []schema.Type{ended}) {
					rt.Fatalf("ended by %q, recorded %v", ended, got)
				}
				success := 0
				if ended == schema.TypeCompactionCompleted {
					success = 1
				}
				if n := len(events.Of(schema.TypeSummaryCreated)); n != success {
					rt.Fatalf("%d summaries after %q", n, ended)
				}
			},
		})
	})
}

// TestRunEndsIt compares each behavior of a summarizer with the end that it must have, also
// under an ended context.
func TestRunEndsIt(t *testing.T) {
	t.Parallel()
	long := short("long")
	long.Text = strings.Repeat("one two three ", 1000)
	away := errors.New("with secret content")
	for name, c := range map[string]struct {
		summarize producer.Summarizer
		end       schema.Type
		want      error
	}{
		"answers":          {func(context.Context, []window.Item) (producer.Summary, error) { return short("summary"), nil }, schema.TypeCompactionCompleted, nil},
		"errs":             {func(context.Context, []window.Item) (producer.Summary, error) { return producer.Summary{}, away }, schema.TypeCompactionFailed, away},
		"panics":           {func(context.Context, []window.Item) (producer.Summary, error) { panic("secret") }, schema.TypeCompactionFailed, window.ErrWorkPanicked},
		"nothing":          {func(context.Context, []window.Item) (producer.Summary, error) { return producer.Summary{}, nil }, schema.TypeCompactionFailed, producer.ErrInvalid},
		"more than it got": {func(context.Context, []window.Item) (producer.Summary, error) { return long, nil }, schema.TypeCompactionDiscarded, window.ErrNotSmaller},
		"an item's id":     {func(context.Context, []window.Item) (producer.Summary, error) { return short("u2"), nil }, schema.TypeCompactionFailed, window.ErrInvalid},
		"hangs":            {nil, schema.TypeCompactionFailed, window.ErrWorkTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, rec := producertest.New(t)
				turn := turnOf(t, client, "s")
				items := spoken(t, turn)
				comp := begin(t, turn.Call("c"), items)
				never := make(chan struct{})
				if c.summarize == nil {
					c.summarize = func(context.Context, []window.Item) (producer.Summary, error) { <-never; return short("late"), nil }
				}
				after, err := comp.Run(t.Context(), c.summarize)
				close(never)
				if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
					t.Errorf("%v", err)
				}
				if c.want != nil && !slices.Equal(ids(after), ids(items)) {
					t.Errorf("the window is %v", ids(after))
				}
				ends := rec.Events().Of(schema.TypeCompactionCompleted, schema.TypeCompactionFailed, schema.TypeCompactionDiscarded)
				if got := ends.Types(); !slices.Equal(got, []schema.Type{c.end}) || strings.Contains(string(ends[0].Data), "secret") {
					t.Errorf("recorded %v", got)
				}
				if _, err := comp.Run(t.Context(), c.summarize); c.summarize != nil && name == "answers" && !errors.Is(err, producer.ErrCompactionEnded) {
					t.Errorf("once more: %v", err)
				}
			})
		})
	}
}

// strict is a transport that accepts nothing under an ended context. A transport with a
// wait for room does the same.
type strict struct{ *producertest.Recorder }

func (s strict) Send(ctx context.Context, messages ...schema.Message) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.Recorder.Send(ctx, messages...)
}

func strictClient(t testing.TB) (*producer.Client, *producertest.Recorder) {
	t.Helper()
	rec := new(producertest.Recorder)
	client, err := producer.NewClient(producer.Config{}, strict{rec})
	if err != nil {
		t.Fatal(err)
	}
	return client, rec
}

// TestRunStopped ends the context while the summarizer works: the compaction is recorded as
// failed.
func TestRunStopped(t *testing.T) {
	t.Parallel()
	client, rec := strictClient(t)
	turn := turnOf(t, client, "s")
	comp := begin(t, turn.Call("c"), spoken(t, turn))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := comp.Run(ctx, func(ctx context.Context, _ []window.Item) (producer.Summary, error) {
		cancel()
		<-ctx.Done()
		return short("late"), nil
	})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, producer.ErrWork) {
		t.Errorf("%v", err)
	}
	if failed := producertest.One[*schema.CompactionFailed](t, rec.Events()); failed.Reason == "" {
		t.Error("no reason")
	}
}

// TestStartedOnly: a runtime that stops during a compaction leaves no end, and the start
// does not look like a success.
func TestStartedOnly(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := turnOf(t, client, "s")
	begin(t, turn.Call("c"), spoken(t, turn))
	started := producertest.One[*schema.CompactionStarted](t, rec.Events())
	if started.SummaryRef != "" || started.TokensAfter != nil || len(started.SourceItemRefs) != 5 {
		t.Errorf("%+v", started)
	}
	for _, bad := range [][]string{nil, {"gone"}, {"system"}, {"t1"}, {"u1", "u1"}} {
		if _, err := turn.Call("d").Compact(t.Context(), producer.Compaction{Window: spoken(t, turnOf(t, client, "other")), Source: bad}); !errors.Is(err, window.ErrInvalid) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	producertest.One[*schema.CompactionStarted](t, rec.Events())
}

// TestLargeCompaction: a source that is too large for one event is named by its window.
func TestLargeCompaction(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	call := turnOf(t, client, "s").Call("c")
	items := make([]window.Item, 3_000)
	var source []string
	for i := range items {
		items[i] = window.Item{ID: fmt.Sprintf("an item with quite a long id %05d", i), Kind: window.KindMessage, Role: window.RoleAssistant, Tokens: 10}
		if i < 2_000 {
			source = append(source, items[i].ID)
		}
	}
	comp, err := call.Compact(t.Context(), producer.Compaction{Window: items, Source: source})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := comp.Complete(t.Context(), short("summary")); err != nil {
		t.Fatal(err)
	}
	done := producertest.One[*schema.CompactionCompleted](t, rec.Events())
	if len(done.SourceItemRefs) != 0 || *done.SourceWindow.ItemCount != 2_000 || done.Metadata["source_item_refs"] != "left_out" || done.Metadata["retained_tail_refs"] != nil && len(done.RetainedTailRefs) != 0 {
		t.Errorf("%+v", done.Metadata)
	}
	summary := producertest.One[*schema.SummaryCreated](t, rec.Events())
	if !slices.Equal(schema.RefIDs(summary.SourceItemRefs), []string{source[0], source[1_999]}) || summary.Metadata["source_item_refs"] != "first_and_last" {
		t.Errorf("%v, %v", summary.SourceItemRefs, summary.Metadata)
	}
}
