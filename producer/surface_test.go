package producer_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// TestSourcesSurfacesAndWrapping: a host's description of sources, offers and wrapping is
// recorded unchanged. Without a description, nothing is recorded.
func TestSourcesSurfacesAndWrapping(t *testing.T) {
	t.Parallel()
	key, err := schema.NewKey(bytes.NewReader(bytes.Repeat([]byte{7}, 32)), producertest.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	client, rec := producertest.New(t, func(c *producer.Config) { c.Key = key })
	turn := opened(t, client, producer.Run{Session: "s"}).Turn("t", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 1_000}})
	page := schema.SourceRef{SourceID: "doc-1", Authority: "team", Selector: map[string]any{"type": "page", "page": 3.0}}
	item, err := turn.Add(t.Context(), producer.Content{ID: "a", Kind: window.KindRetrieved, Text: "x", Wrapper: "memory", SourceURI: "file:///a", Sources: []schema.SourceRef{page}})
	if err != nil {
		t.Fatal(err)
	}
	until := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	for i, call := range []*producer.Call{turn.Call("told"), turn.Call("untold")} {
		if i == 0 {
			call.Offered = producer.Offered{Sources: []string{"doc-1"}, Capabilities: []string{"tool:search"}, Visibility: []schema.Visibility{schema.VisibleTool}, ExpiresAt: until}
			call.Wrapping = producer.Wrapping{Policy: "policy:xml", Separator: "policy:lines"}
		}
		plan, err := call.Fit(t.Context(), []window.Item{item}, window.DefaultPolicy(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := call.Assemble(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
		if _, err := call.AssembleFor(t.Context(), plan, producer.Receiver{Target: schema.VisibleTool, ToolCall: "tool"}); err != nil {
			t.Fatal(err)
		}
	}
	added := producertest.One[*schema.ItemAdded](t, rec.Events())
	if len(added.SourceRefs) != 2 || added.SourceRefs[0].URI != "file:///a" || added.SourceRefs[1].SourceID != "doc-1" || added.SourceRefs[1].URI != "" || added.SourceRefs[1].Authority != "team" {
		t.Errorf("%+v", added.SourceRefs)
	}
	surfaces := producertest.Facts[*schema.SurfaceCreated](rec.Events())
	if s := surfaces[0]; !slices.Equal(s.AvailableSourceRefs, schema.Refs("doc-1")) || !slices.Equal(s.CapabilityRefs, schema.Refs("tool:search")) ||
		!slices.Equal(s.Visibility, []string{"tool"}) || s.ExpiresAt == nil || !s.ExpiresAt.Equal(until) || !slices.Equal(s.AvailableItemRefs, schema.Refs("a")) {
		t.Errorf("%+v", s)
	}
	if s := surfaces[1]; s.AvailableSourceRefs != nil || s.CapabilityRefs != nil || s.ExpiresAt != nil || !slices.Equal(s.Visibility, []string{"model"}) {
		t.Errorf("%+v", s)
	}
	assemblies := producertest.Facts[*schema.AssemblyCreated](rec.Events())
	for i, a := range assemblies {
		policy, separator := schema.Ref("policy:xml"), schema.Ref("policy:lines")
		if i >= 2 {
			policy, separator = "", ""
		}
		if a.WrappingPolicy != policy || a.SeparatorPolicy != separator || a.OrderedBlocks[0].Wrapper != "memory" ||
			a.OrderedBlocks[0].Digest != key.Digest([]byte("x")) {
			t.Errorf("%d: %+v", i, a)
		}
	}
	if len(assemblies) != 4 {
		t.Errorf("%d assemblies", len(assemblies))
	}
}
