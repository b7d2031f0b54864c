package producer_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// TestParts: an item's images and files are recorded by reference and count in its size
// (seed 003, l. 102, 132 and 133).
func TestParts(t *testing.T) {
	t.Parallel()
	key, err := schema.NewKey(bytes.NewReader(bytes.Repeat([]byte{7}, 32)), producertest.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	client, rec := producertest.New(t, func(c *producer.Config) { c.Key = key })
	turn := turnOf(t, client, "s")
	message := func(id string, parts ...producer.Part) producer.Content {
		return producer.Content{ID: id, Kind: window.KindMessage, Role: window.RoleUser, Layer: "user", Text: "What is this?", Parts: parts}
	}
	image := producer.Part{Kind: schema.PartImage, MimeType: "image/png", Ref: "file:shot.png", Detail: "low", Bytes: new(int64(2048)), Tokens: new(int64(258)), Estimator: "provider"}
	plain, err := turn.Add(t.Context(), message("plain"))
	if err != nil {
		t.Fatal(err)
	}
	both, err := turn.Add(t.Context(), message("both", image, producer.Part{Kind: schema.PartText, Text: "in one word"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Add(t.Context(), message("unknown", producer.Part{Kind: schema.PartFile, Name: "a.pdf", Ref: "file-1"})); err != nil {
		t.Fatal(err)
	}
	only := message("only", image)
	only.Text = ""
	if _, err := turn.Add(t.Context(), only); err != nil {
		t.Fatal(err)
	}
	items := producertest.Facts[*schema.ItemAdded](rec.Events())
	if len(items) != 4 || len(items[0].Parts) != 0 || len(items[1].Parts) != 2 {
		t.Fatalf("%d items", len(items))
	}
	text := items[1].Parts[1]
	if p := items[1].Parts[0]; p.PartKind != "image" || p.Ref != "file:shot.png" || *p.Tokens != 258 || *p.ByteSize != 2048 || p.Detail != "low" {
		t.Errorf("%+v", p)
	}
	if text.Digest == "" || *text.ByteSize != 11 || *text.Tokens == 0 || text.Content != nil {
		t.Errorf("%+v", text)
	}
	if want := plain.Tokens + 258 + int(*text.Tokens); both.Tokens != want || *items[1].TokenEstimate != int64(want) || *items[1].ByteSize != 13+2048+11 {
		t.Errorf("%d tokens, %d bytes", both.Tokens, *items[1].ByteSize)
	}
	if items[1].ContentDigest == items[0].ContentDigest || items[1].ContentDigest != both.Digest {
		t.Error("the digest does not cover the parts")
	}
	if items[2].TokenEstimate != nil || items[2].ByteSize != nil {
		t.Error("a file of unknown size was counted")
	}
	if items[3].MimeType != "image/png" || items[3].ContentRef != "file:shot.png" {
		t.Errorf("%+v", items[3].Item)
	}
	before := len(rec.Events())
	for field, bad := range map[string]producer.Part{
		"part kind":      {Ref: "file:a"},
		"part ref":       {Kind: schema.PartImage},
		"part text":      {Kind: schema.PartFile, Ref: "file:a", Text: "the file itself"},
		"part size":      {Kind: schema.PartImage, Ref: "file:a", Bytes: new(int64(-1))},
		"part estimator": {Kind: schema.PartImage, Ref: "file:a", Tokens: new(int64(1))},
	} {
		refusedField(t, field, turn, message("bad", image, bad))
	}
	refusedField(t, "part ref", turn, message("bad", producer.Part{Kind: schema.PartImage, Ref: "DATA:image/png;base64,aGk="}))
	if after := len(rec.Events()); after != before {
		t.Errorf("%d facts of refused parts", after-before)
	}
}

func refusedField(t *testing.T, field string, turn *producer.Turn, c producer.Content) {
	t.Helper()
	var wrong *producer.InvalidError
	if _, err := turn.Add(t.Context(), c); !errors.As(err, &wrong) || wrong.Field != field {
		t.Errorf("%s: %v", field, err)
	}
}

// TestMarkers: markers distinguish summaries of reasoning, encrypted reasoning and refusals
// from other entries (seed 003, l. 118, 119 and 134).
func TestMarkers(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := turnOf(t, client, "s")
	reasoning := producer.Content{ID: "r1", ItemType: producer.ItemReasoning, Role: window.RoleAssistant, Text: "in short",
		Markers: []schema.LogMarker{schema.MarkReasoningSummary, schema.MarkEncryptedContent}}
	refusal := producer.Content{ID: "a1", Kind: window.KindMessage, Role: window.RoleAssistant, Text: "I cannot help with that.", Markers: []schema.LogMarker{schema.MarkRefusal}}
	for _, c := range []producer.Content{reasoning, refusal, {ID: "a2", Kind: window.KindMessage, Text: "yes"}} {
		if _, err := turn.Add(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	entries := producertest.Facts[*schema.LogAppended](rec.Events())
	if len(entries) != 3 || !slices.Equal(entries[0].Markers, []string{"reasoning_summary", "encrypted_content"}) ||
		!slices.Equal(entries[1].Markers, []string{"refusal"}) || entries[2].Markers != nil {
		t.Errorf("%d entries: %+v", len(entries), entries)
	}
	for _, bad := range []producer.Content{
		{ID: "b", Kind: window.KindMessage, Text: "x", Markers: []schema.LogMarker{schema.MarkEncryptedContent}},
		{ID: "b", ItemType: producer.ItemReasoning, Text: "x", Markers: []schema.LogMarker{schema.MarkRefusal}},
		{ID: "b", Kind: window.KindRetrieved, Text: "x", Markers: []schema.LogMarker{schema.MarkRefusal}},
		{ID: "b", Kind: window.KindMessage, Text: "x", Markers: []schema.LogMarker{schema.MarkRefusal, schema.MarkRefusal}},
		{ID: "b", Kind: window.KindMessage, Text: "x", Markers: []schema.LogMarker{"no word"}},
	} {
		refusedField(t, "marker", turn, bad)
	}
}

// TestLayersReportTheirSize: a layer's own report of its size is recorded next to the
// counted size, with its estimator (seed 003, l. 144).
func TestLayersReportTheirSize(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := turnOf(t, client, "s")
	item, err := turn.Add(t.Context(), producer.Content{ID: "note", Layer: "memory", Kind: window.KindRetrieved, Text: "Ada likes tea."})
	if err != nil {
		t.Fatal(err)
	}
	call := turn.Call("c")
	plan, err := call.Fit(t.Context(), []window.Item{item}, window.Policy{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for field, bad := range map[string][]producer.LayerReport{
		"reported layer":     {{Layer: "memory", Estimator: "own"}, {Layer: "memory", Estimator: "own"}},
		"reported tokens":    {{Layer: "memory", Tokens: -1, Estimator: "own"}},
		"reported estimator": {{Layer: "memory", Tokens: 1}},
	} {
		call.Reports = bad
		var wrong *producer.InvalidError
		if err := call.Usage(t.Context(), plan, schema.ProviderUsage{}); !errors.As(err, &wrong) || wrong.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	call.Reports = []producer.LayerReport{{Layer: "memory", Tokens: 9, Estimator: "own"}, {Layer: "skills", Tokens: 3, Estimator: "own"}}
	if err := call.Usage(t.Context(), plan, schema.ProviderUsage{}); err != nil {
		t.Fatal(err)
	}
	usage := producertest.Facts[*schema.UsageRecorded](rec.Events())
	if len(usage) != 1 || len(usage[0].Layers) != 2 {
		t.Fatalf("%+v", usage)
	}
	memory, skills := usage[0].Layers[0], usage[0].Layers[1]
	if *memory.Tokens != int64(item.Tokens) || *memory.Reported != 9 || memory.ReportedBy != "own" || *skills.Tokens != 0 || *skills.Reported != 3 {
		t.Errorf("%+v, %+v", memory, skills)
	}
}
