package producer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/schema"
)

// What two agents share over scratchpads is known by size alone.
func ExampleTurn_LoadScratchpad() {
	ctx, rec := context.Background(), new(producertest.Recorder)
	client, _ := producer.NewClient(producer.Config{}, rec) // a runtime has producer.Connect
	run, _ := client.Open(ctx, producer.Run{Session: "s_42"})
	turn := run.Turn("turn_7", producer.Model{Name: "gpt-4o"})
	err := turn.LoadScratchpad(ctx,
		producer.ScratchpadEntry{ContextID: "users/1", Text: "prefers short answers"},
		producer.ScratchpadEntry{ContextID: "users/1", Text: "writes in German"},
		producer.ScratchpadEntry{ContextID: "global/config", Text: "be polite"})
	f := producertest.Facts[*schema.ScratchpadLoaded](rec.Events())[0]
	fmt.Println(err, f.ContextIDs, *f.EntryCount, *f.Tokens)
	// Output: <nil> [users/1 global/config] 3 9
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
	if err := errors.Join(turn.LoadScratchpad(t.Context(), entries...), turn.WriteScratchpad(t.Context(), entries[0]), turn.LoadScratchpad(t.Context())); err != nil {
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
	redaction := producertest.One[*schema.RedactionApplied](t, rec.Events())
	if redaction.TargetRef != schema.Ref(loaded[0].ScratchpadID) || redaction.PolicyRefs[0] != "policy:test" {
		t.Errorf("%+v", redaction)
	}
	if loaded[0].ScratchpadID == written[0].ScratchpadID {
		t.Error("two facts of one id")
	}
	before := len(rec.Events())
	if err := turn.LoadScratchpad(t.Context(), entries[1], producer.ScratchpadEntry{ContextID: "bad\xff"}); err == nil || len(rec.Events()) != before {
		t.Errorf("an id that is no text: %v, %d facts", err, len(rec.Events())-before)
	}
}

// TestLargeScratchpad records what no event holds whole.
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
	if err := turn.LoadScratchpad(t.Context(), entries...); err != nil {
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
