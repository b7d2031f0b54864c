package importer_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/producer/title"
	"github.com/ctxledger/ctxledger/schema"
)

// wordDetector withholds one word.
type wordDetector string

func (w wordDetector) Detect(_ context.Context, text string) []redact.Value {
	if strings.Contains(text, string(w)) {
		return []redact.Value{redact.Withhold(string(w), "policy:test", "secret")}
	}
	return nil
}

var testTitles = &title.Maker{Detector: wordDetector("hunter2hunter2")}

// TestTitles: with titles, nothing differs but the source and the titles. Most tools and prompts of
// real logs have a title of their own, and a result has that of its call.
func TestTitles(t *testing.T) {
	own, tools := 0, 0
	for log, format := range logs(t) {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		options := testOptions()
		plain := items(t, importAs(t, format, "log", text, options).events)
		options.Titles = testTitles
		titled := items(t, importAs(t, format, "log", text, options).events)
		calls := make(map[string]string)
		for i, item := range titled {
			was := plain[i]
			if item.ContextKind == "tool_call" {
				if format != model.FormatCodex { // the arguments of the Codex logs are scrubbed
					tools++
				}
				calls[model.ResultID(item.ItemID)] = item.Title
			}
			if call := calls[item.ItemID]; call != "" && !strings.HasSuffix(call, " call") && item.Title != call {
				t.Errorf("%s: the result of %q is %q", log, call, item.Title)
			}
			delete(calls, item.ItemID) // a log may have two results of a call
			if item.Title != was.Title {
				own++
				if !slices.Contains([]string{"tool_call", "tool_result", "user_message"}, item.ContextKind) {
					t.Errorf("%s: a %s has the title %q", log, item.ContextKind, item.Title)
				}
			}
			item.Title = was.Title
			equal(t, "item "+item.ItemID, item, was)
		}
	}
	if tools < 20 || own < tools {
		t.Errorf("%d titles of their own with %d tool calls", own, tools)
	}
}

func items(t *testing.T, events []*schema.Event) (list []*schema.ItemAdded) {
	for _, e := range events {
		if item, ok := decode(t, e).(*schema.ItemAdded); ok {
			list = append(list, item)
		}
	}
	return list
}

// TestTitlesHoldNoSecret cuts no title out of a text before the detector has seen it.
func TestTitlesHoldNoSecret(t *testing.T) {
	t.Parallel()
	options := testOptions()
	options.Titles = testTitles
	line := `{"parentUuid":null,"isSidechain":false,"sessionId":"11111111-aaaa-4bbb-8ccc-000000000001","version":"2.1.14","type":"user","uuid":"u-1","timestamp":"2026-01-02T03:00:01.000Z","message":{"role":"user","content":"` +
		strings.Repeat("word ", 14) + `hunter2hunter2"}}` + "\n"
	got := importText(t, "log", []byte(line), options)
	for _, e := range got.events {
		if strings.Contains(string(e.Data), "hunter") {
			t.Errorf("a fact holds a part of the secret: %s", e.Data)
		}
	}
	if list := items(t, got.events); len(list) != 1 || !strings.HasPrefix(list[0].Title, "word word") {
		t.Errorf("the items are %+v", list)
	}
}
