package importer_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
)

// textLine is a log of Claude Code with one prompt.
func textLine(prompt string) []byte {
	return []byte(`{"parentUuid":null,"isSidechain":false,"sessionId":"s-1","version":"2.1.14","type":"user","uuid":"u-1","timestamp":"2026-01-02T03:00:01.000Z","message":{"role":"user","content":` + strconv.Quote(prompt) + `}}` + "\n")
}

// withLargeText imports a log, and returns its texts that are not in the events, by event.
func withLargeText(t *testing.T, f model.Format, text []byte) (imported, map[*schema.Event]string) {
	t.Helper()
	large := make(map[*schema.Event]string)
	options := testOptions()
	options.StoreText = true
	options.LargeText = func(e *schema.Event, text string) { large[e] = text }
	return importAs(t, f, "log", text, options), large
}

// TestLargeText: a text that does not fit is handed over with the event that names it. Nothing else of the
// event differs but its source.
func TestLargeText(t *testing.T) {
	for _, c := range []struct {
		prompt string
		large  bool
	}{
		{"short", false},
		{strings.Repeat("a", schema.MaxEventBytes-2000), false},
		{strings.Repeat("a", schema.MaxEventBytes-1), true}, // the event has other members, too
		{strings.Repeat("<", schema.MaxEventBytes/3), false},
		{strings.Repeat("a", 200<<10), true},
		{"", false},
	} {
		got, large := withLargeText(t, model.FormatClaudeCode, textLine(c.prompt))
		checkValid(t, got.events)
		if len(large) == 1 != c.large {
			t.Errorf("%d bytes: %d large texts", len(c.prompt), len(large))
		}
		options := testOptions()
		for i, item := range items(t, got.events) {
			plain := items(t, importText(t, "log", textLine(c.prompt), options).events)[i]
			if digest := item.ContentRef.TextDigest(); (digest != "") != c.large || c.large && digest != options.Key.Digest([]byte(c.prompt)) {
				t.Errorf("%d bytes: the item names %s", len(c.prompt), item.ContentRef)
			}
			if c.large && (item.ContentMode != schema.ContentRef || item.Content != nil || item.ContentDigest != plain.ContentDigest || *item.ByteSize != *plain.ByteSize) {
				t.Errorf("%d bytes: the item is %+v", len(c.prompt), item)
			}
		}
	}
	for log, format := range logs(t) {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		options := testOptions()
		options.StoreText = true
		without := importAs(t, format, "log", text, options)
		got, large := withLargeText(t, format, text)
		if len(without.events) != len(got.events) || without.events[0].Source == got.events[0].Source {
			t.Errorf("%s: %d events of %s, want %d of another source", log, len(got.events), got.events[0].Source, len(without.events))
			continue
		}
		for i, e := range got.events {
			was := without.events[i]
			_, isLarge := large[e]
			if e.ID != was.ID || e.Sequence == nil || *e.Sequence != *was.Sequence || (string(e.Data) != string(was.Data)) != isLarge {
				t.Errorf("%s: event %d is large: %v\n%s\n%s", log, i, isLarge, e.Data, was.Data)
			}
		}
	}
	// without a key there is no name for the text
	options := testOptions()
	options.StoreText, options.Key = true, schema.Key{}
	options.LargeText = func(*schema.Event, string) { t.Error("a text without a name") }
	importText(t, "log", textLine(strings.Repeat("a", 200<<10)), options)
}
