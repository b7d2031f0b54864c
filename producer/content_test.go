package producer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// Reasoning and a runtime's own types are in the item log next to messages.
func ExampleTurn_Add() {
	ctx, rec := context.Background(), new(producertest.Recorder)
	client, _ := producer.NewClient(producer.Config{}, rec) // a runtime has producer.Connect
	run, _ := client.Open(ctx, producer.Run{Session: "s_42"})
	turn := run.Turn("turn_7", producer.Model{Name: "gpt-4o"})
	for _, content := range []producer.Content{
		{ID: "m1", Role: "user", Kind: window.KindMessage, Status: producer.ItemCompleted, Text: "What is new?"},
		{ID: "r1", Role: "assistant", Kind: window.KindMessage, ItemType: producer.ItemReasoning, Status: producer.ItemCompleted, Text: "I should search."},
		{ID: "w1", Kind: window.KindFixed, ItemType: "openrouter:web_search", Status: producer.ItemFailed},
	} {
		if _, err := turn.Add(ctx, content); err != nil {
			fmt.Println(err)
		}
	}
	for _, entry := range producertest.Facts[*schema.LogAppended](rec.Events()) {
		fmt.Println(*entry.Position, entry.ItemType, entry.Status)
	}
	// Output:
	// 0 message completed
	// 1 reasoning completed
	// 2 openrouter:web_search failed
}

// TestContentIsRecordedWholeOrNotAtAll: item, redactions and log entry are all recorded, or
// none.
func TestContentIsRecordedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t, func(c *producer.Config) { c.ItemTypes = []producer.ItemType{"a:known"} })
	run := opened(t, client, producer.Run{Session: "s"})
	turn := run.Turn("t", producer.Model{Name: "gpt-4o"})
	message := producer.Content{ID: "m", Role: "user", Kind: window.KindMessage, Text: "x"}
	if _, err := turn.Add(t.Context(), message); err != nil {
		t.Fatal(err)
	}
	before := len(rec.Events())
	for name, c := range map[string]struct {
		content producer.Content
		want    error
	}{
		"an id twice in a turn":  {message, producer.ErrInvalid},
		"no id":                  {producer.Content{Kind: window.KindMessage}, nil},
		"no item type":           {producer.Content{ID: "a", ItemType: "tool_search_call"}, producer.ErrInvalid},
		"an unknown extension":   {producer.Content{ID: "a", ItemType: "b:unknown"}, producer.ErrInvalid},
		"a malformed extension":  {producer.Content{ID: "a", ItemType: ":x"}, producer.ErrInvalid},
		"a status of a task":     {producer.Content{ID: "a", Kind: window.KindMessage, Status: "approved"}, producer.ErrInvalid},
		"a role that is no text": {producer.Content{ID: "a", Kind: window.KindMessage, ToolName: "\xff"}, nil},
	} {
		_, err := turn.Add(t.Context(), c.content)
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(rec.Events()); n != before {
		t.Errorf("%d facts of refused content", n-before)
	}
	for _, c := range []producer.Content{{ID: "known", ItemType: "a:known"}, {ID: "r", ItemType: producer.ItemReasoning}} {
		if _, err := turn.Add(t.Context(), c); err != nil {
			t.Error(err)
		}
	}
	if _, err := turn.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Turn("later", producer.Model{}).Add(t.Context(), message); err != nil {
		t.Errorf("the same item in a later turn: %v", err)
	}
	for i, f := range producertest.Facts[*schema.LogAppended](rec.Events()) {
		if *f.Position != int64(i) {
			t.Errorf("%s stands at %d, not %d", f.LogItemID, *f.Position, i)
		}
	}
}

// TestEntriesOfTheLog: an entry has the type, role, status and tool call of its content,
// and the size and digest of its text.
//
// Source: seed 003 (event log, item types, content parts).
func TestEntriesOfTheLog(t *testing.T) {
	t.Parallel()
	key, err := schema.NewKey(bytes.NewReader(bytes.Repeat([]byte{7}, 32)), producertest.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	client, rec := producertest.New(t, func(c *producer.Config) { c.Key = key })
	run := opened(t, client, producer.Run{Session: "s"})
	for position, c := range []struct {
		content  producer.Content
		itemType producer.ItemType
	}{
		{producer.Content{ID: "m", Role: "user", Kind: window.KindMessage, Status: producer.ItemInProgress, Text: "find it"}, producer.ItemMessage},
		{producer.Content{ID: "d", Role: "developer", Kind: window.KindMessage, Status: producer.ItemCompleted, Text: "be brief"}, producer.ItemMessage},
		{producer.Content{ID: "c", Role: "assistant", Kind: window.KindToolCall, ToolCallID: "call-1", ToolName: "search", Status: producer.ItemIncomplete, Text: `{"q":"it"}`}, producer.ItemFunctionCall},
		{producer.Content{ID: "o", Role: "tool", Kind: window.KindToolResult, ToolCallID: "call-1", Status: producer.ItemFailed, Text: "none"}, producer.ItemFunctionCallOutput},
		{producer.Content{ID: "r", Role: "assistant", Kind: window.KindMessage, ItemType: producer.ItemReasoning, Text: "I should search."}, producer.ItemReasoning},
	} {
		item, err := run.Add(t.Context(), "gpt-4o", c.content)
		if err != nil {
			t.Fatal(err)
		}
		entries := producertest.Facts[*schema.LogAppended](rec.Events())
		got := entries[len(entries)-1]
		want := &schema.LogAppended{
			Common: got.Common, LogItemID: c.content.ID, LogID: "s", Position: new(int64(position)), ItemType: string(c.itemType), Role: c.content.Role,
			Name: c.content.ToolName, ToolCallID: c.content.ToolCallID, Status: string(c.content.Status), ItemRef: schema.Ref(c.content.ID),
			Tokens: new(int64(item.Tokens)), ByteSize: new(int64(len(c.content.Text))), ContentDigest: key.Digest([]byte(c.content.Text)),
		}
		if len(entries) != position+1 || item.Tokens == 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("entry %d of %d:\n%+v, not\n%+v", position, len(entries), got, want)
		}
	}
}

// TestUnknownModel: without a public tokenizer the count is an estimate and is marked.
func TestUnknownModel(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	run := opened(t, client, producer.Run{Session: "s"})
	for model, known := range map[string]bool{"gpt-4o": true, "claude-sonnet-4": false, "": false} {
		turn := run.Turn("turn "+model, producer.Model{Name: model, Window: window.Budget{MaxTokens: 100}})
		item, err := turn.Add(t.Context(), producer.Content{ID: "m " + model, Role: "user", Kind: window.KindMessage, Text: "one two three"})
		if err != nil || item.Tokens != 3 {
			t.Fatalf("%q: %d tokens, %v", model, item.Tokens, err)
		}
		call := turn.Call("call " + model)
		plan, err := call.Fit(t.Context(), []window.Item{item}, window.DefaultPolicy(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := call.Usage(t.Context(), plan, schema.ProviderUsage{}); err != nil {
			t.Fatal(err)
		}
		events := rec.Events().Turn("turn " + model)
		for _, estimator := range []string{producertest.One[*schema.ItemAdded](t, events).Estimator, producertest.One[*schema.UsageRecorded](t, events).Estimator} {
			if strings.HasPrefix(estimator, "estimate:") == known {
				t.Errorf("%q is counted by %s", model, estimator)
			}
		}
	}
	if _, err := run.Turn("no window", producer.Model{Name: "gpt-4o"}).Call("c").Fit(t.Context(), nil, window.DefaultPolicy(), nil); !errors.Is(err, window.ErrInvalid) {
		t.Errorf("a window of unknown size: %v", err)
	}
}

// TestEmptyIDsAreReplaced: turns and calls without an id get different ids.
func TestEmptyIDsAreReplaced(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	run := opened(t, client, producer.Run{Session: "s"})
	a, b := run.Turn("", producer.Model{}), run.Turn("", producer.Model{})
	if a.ID() == "" || a.ID() == b.ID() || a.Call("").ID() == a.Call("").ID() {
		t.Errorf("turns %q and %q", a.ID(), b.ID())
	}
	if receipt, err := a.Seal(t.Context()); err != nil || receipt.ContextID == "ctx:" {
		t.Errorf("sealed %q: %v", receipt.ContextID, err)
	}
	if n := len(rec.Events().Turn(a.ID())); n != 1 {
		t.Errorf("%d facts of the turn", n)
	}
}

func FuzzParseItemType(f *testing.F) {
	for _, s := range []string{"message", "reasoning", "noetic:analytics", "openrouter:web_search", "a:b:c", ":", "a:", "a b:c", "a:é", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		parsed, err := producer.ParseItemType(s)
		if err != nil {
			if !errors.Is(err, producer.ErrInvalid) || parsed != "" || strings.Contains(err.Error(), s) && len(s) > 20 {
				t.Fatalf("%q: %q, %v", s, parsed, err)
			}
			return
		}
		if string(parsed) != s || parsed.Extension() != strings.Contains(s, ":") || strings.ContainsAny(s, " \t\n\x00") || len(s) > 128 {
			t.Fatalf("%q was taken as %q", s, parsed)
		}
	})
}
