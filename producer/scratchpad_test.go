package producer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// The shared notes of two agents are in the window, and facts hold only their sizes.
func ExampleTurn_LoadScratchpad() {
	ctx, rec := context.Background(), new(producertest.Recorder)
	client, _ := producer.NewClient(producer.Config{}, rec) // a runtime has producer.Connect
	run, _ := client.Open(ctx, producer.Run{Session: "s_42"})
	turn := run.Turn("turn_7", producer.Model{Name: "gpt-4o"})
	items, err := turn.LoadScratchpad(ctx,
		producer.ScratchpadEntry{ContextID: "users/1", Text: "prefers short answers"},
		producer.ScratchpadEntry{ContextID: "users/1", Text: "writes in German"},
		producer.ScratchpadEntry{ContextID: "global/config", Text: "be polite"})
	f := producertest.Facts[*schema.ScratchpadLoaded](rec.Events())[0]
	fmt.Println(err, f.ContextIDs, *f.EntryCount, *f.Tokens)
	fmt.Println(len(items), "items of the layer", items[0].Layer)
	// Output:
	// <nil> [users/1 global/config] 3 9
	// 3 items of the layer scratchpad
}

func TestScratchpadTextStays(t *testing.T) {
	t.Parallel()
	guard, err := redact.New(redact.Withhold("hunter2-correct-horse", "policy:test", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := schema.NewKey(bytes.NewReader(bytes.Repeat([]byte{7}, 32)), producertest.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	client, rec := producertest.New(t, func(c *producer.Config) { c.Guard, c.Key = guard, key })
	turn := opened(t, client, producer.Run{Session: "s"}).Turn("t", producer.Model{Name: "gpt-4o"})
	entries := []producer.ScratchpadEntry{{ContextID: "a", Text: "plain words of the user"}, {ContextID: "b", Text: "it is hunter2-correct-horse"}, {ContextID: "c", Text: "hunter2-correct-horse"}}
	items, err := turn.LoadScratchpad(t.Context(), entries...)
	_, none := turn.LoadScratchpad(t.Context())
	if err := errors.Join(err, none, turn.WriteScratchpad(t.Context(), entries[0])); err != nil {
		t.Fatal(err)
	}
	for _, e := range rec.Events() {
		if data := string(e.Data); strings.Contains(data, "hunter2-correct-horse") || strings.Contains(data, "plain words") {
			t.Errorf("%s has the text", e.Type)
		}
	}
	loaded, written := producertest.Facts[*schema.ScratchpadLoaded](rec.Events()), producertest.Facts[*schema.ScratchpadWritten](rec.Events())
	if len(loaded) != 2 || len(written) != 1 || *loaded[1].EntryCount != 0 || *loaded[1].Tokens != 0 {
		t.Fatalf("%d loaded, %d written", len(loaded), len(written))
	}
	if len(loaded[0].Digests) != 3 || loaded[0].Digests[0] != key.Digest([]byte(entries[0].Text)) || loaded[0].Digests[1] == key.Digest([]byte(entries[1].Text)) || written[0].Digests[0] != loaded[0].Digests[0] {
		t.Errorf("digests %v and %v", loaded[0].Digests, written[0].Digests)
	}
	if !slices.Equal(loaded[0].ContextIDs, []string{"a", "b", "c"}) || !slices.Equal(written[0].ContextIDs, []string{"a"}) {
		t.Errorf("context ids %v and %v", loaded[0].ContextIDs, written[0].ContextIDs)
	}
	redactions := producertest.Facts[*schema.RedactionApplied](rec.Events())
	for i, redaction := range redactions {
		if redaction.TargetRef != schema.Ref(items[i+1].ID) || redaction.PolicyRefs[0] != "policy:test" {
			t.Errorf("%+v", redaction)
		}
	}
	if len(redactions) != 2 || items[0].Redaction != "" || items[1].Redaction != "masked" {
		t.Errorf("%d redactions of %+v", len(redactions), items)
	}
	if loaded[0].ScratchpadID == written[0].ScratchpadID {
		t.Error("two facts of one id")
	}
	before := len(rec.Events())
	if _, err := turn.LoadScratchpad(t.Context(), entries[1], producer.ScratchpadEntry{ContextID: "bad\xff"}); err == nil || len(rec.Events()) != before {
		t.Errorf("an id that is no text: %v, %d facts", err, len(rec.Events())-before)
	}
}

// TestLargeScratchpad records entries that are too large for one event.
func TestLargeScratchpad(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := opened(t, client, producer.Run{Session: "s"}).Turn("t", producer.Model{})
	var entries []producer.ScratchpadEntry
	var want []string
	for i := range 3_000 {
		want = append(want, fmt.Sprintf("a rather long id of a shared scratchpad %d", i))
		entries = append(entries, producer.ScratchpadEntry{ContextID: want[i], Text: "x"})
	}
	if _, err := turn.LoadScratchpad(t.Context(), entries...); err != nil {
		t.Fatal(err)
	}
	var got []string
	tokens := int64(0)
	parts := producertest.Facts[*schema.ScratchpadLoaded](rec.Events())
	for i, f := range parts {
		got, tokens = append(got, f.ContextIDs...), tokens+*f.Tokens
		if f.ScratchpadID != parts[0].ScratchpadID || f.Metadata["part"] != float64(i+1) {
			t.Errorf("part %d is %v of %s", i+1, f.Metadata, f.ScratchpadID)
		}
	}
	if len(parts) < 2 || !slices.Equal(got, want) || tokens != 3_000 {
		t.Errorf("%d parts with %d ids and %d tokens", len(parts), len(got), tokens)
	}
}

// TestScratchpadFillsTheWindow: scratchpad entries in the prompt are in the assembly, in
// the usage by layer and in the seal. The fact names the items.
func TestScratchpadFillsTheWindow(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := opened(t, client, producer.Run{Session: "s"}).Turn("t", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 1_000}})
	items, err := turn.LoadScratchpad(t.Context(), producer.ScratchpadEntry{ContextID: "users/1", Text: "prefers short answers"})
	if err != nil {
		t.Fatal(err)
	}
	question, err := turn.Add(t.Context(), producer.Content{ID: "q", Layer: "user", Role: "user", Kind: window.KindMessage, Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	call := turn.Call("c")
	plan, err := call.Fit(t.Context(), append(items, question), window.DefaultPolicy(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = call.Assemble(t.Context(), plan)
	if err := errors.Join(err, call.Usage(t.Context(), plan, schema.ProviderUsage{})); err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	loaded := producertest.One[*schema.ScratchpadLoaded](t, rec.Events())
	assembly := producertest.One[*schema.AssemblyCreated](t, rec.Events())
	usage := producertest.One[*schema.UsageRecorded](t, rec.Events())
	seal := producertest.One[*schema.EnvelopeCreated](t, rec.Events())
	ref := schema.Ref(items[0].ID)
	if !slices.Equal(loaded.ItemRefs, []schema.Ref{ref}) || !slices.Contains(assembly.SourceItemRefs, ref) || !slices.Contains(seal.ItemRefs, ref) {
		t.Errorf("%s is not in all of %v, %v, %v", ref, loaded.ItemRefs, assembly.SourceItemRefs, seal.ItemRefs)
	}
	if l := usage.Layers[0]; l.Layer != producer.LayerScratchpad || *l.Tokens != *loaded.Tokens || *l.Tokens == 0 {
		t.Errorf("%+v", usage.Layers)
	}
}

// TestContextWrite: the agent's flag is recorded, and a run with a false flag writes to no
// scratchpad. Unknown is not false.
func TestContextWrite(t *testing.T) {
	t.Parallel()
	entry := producer.ScratchpadEntry{ContextID: "users/1", Text: "the answer"}
	for name, c := range map[string]struct {
		flag    *bool
		refused bool
	}{"on": {new(true), false}, "off": {new(false), true}, "unknown": {nil, false}} {
		client, rec := producertest.New(t)
		run := opened(t, client, producer.Run{Session: "s", MaxDepth: 1, ContextWrite: c.flag})
		err := run.Turn("t", producer.Model{}).WriteScratchpad(t.Context(), entry)
		var refused *producer.InvalidError
		if errors.As(err, &refused) != c.refused || (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
		if written := len(producertest.Facts[*schema.ScratchpadWritten](rec.Events())); written != 1 && !c.refused || written != 0 && c.refused {
			t.Errorf("%s: %d written", name, written)
		}
		if scope := producertest.One[*schema.ScopeOpened](t, rec.Events()); !reflect.DeepEqual(scope.ContextWrite, c.flag) {
			t.Errorf("%s is recorded as %v", name, scope.ContextWrite)
		}
		child, err := run.Child(t.Context(), producer.Child{})
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Turn("t2", producer.Model{}).WriteScratchpad(t.Context(), entry); err != nil {
			t.Errorf("%s: a child, which has a flag of its own: %v", name, err)
		}
	}
}

// TestScratchpadsGrantNothing: a run that loads a scratchpad and writes to it keeps exactly
// its access.
//
// Source: seed 002 (legacy scratchpad context).
func TestScratchpadsGrantNothing(t *testing.T) {
	t.Parallel()
	client, _ := producertest.New(t)
	run := opened(t, client, producer.Run{Session: "s", Grants: grant.Set{"app/a"}, Resources: []producer.Resource{{Name: "memory"}}})
	turn := run.Turn("t", producer.Model{Name: "gpt-4o"})
	entry := producer.ScratchpadEntry{ContextID: "app/b", Text: "prefers short answers"}
	_, err := turn.LoadScratchpad(t.Context(), entry)
	if err := errors.Join(err, turn.WriteScratchpad(t.Context(), entry)); err != nil {
		t.Fatal(err)
	}
	err = turn.Access(t.Context(), producer.Access{Resource: "memory", Operation: "read", Mode: grant.Read, Path: "app/b"})
	var denied *producer.AccessError
	if !errors.As(err, &denied) || denied.Rule != "grant" || !slices.Equal(run.Grants(), grant.Set{"app/a"}) {
		t.Errorf("%v, with grants %v", err, run.Grants())
	}
}
