package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/river"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/source"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
)

// hostile are texts that would run, break out of their place, or change how a line reads.
var hostile = []string{
	`<script>document.title="sentinel"</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</style><svg onload=alert(1)>`,
	"javascript:alert(1)", "{{.Title}}", "\u202egnp.exe", "\x1b[31mred\x1b[0m\x00", "</title></script>-->", strings.Repeat("M", 1<<20),
}

// hostileReport is a report that has one of the texts in every field.
func hostileReport(text string) Report {
	at := time.Date(2026, 1, 21, 7, 20, 0, 0, time.UTC)
	a := river.Answers{
		Session:    answer.Row{"session_id": text, "tenant": text, "agents": []string{text}, "models": []string{text}, "started_at": at, "ended_at": at},
		Boundaries: []answer.Row{{"thread_id": text, "kind": "compact_boundary", "uuid": text, "timestamp": at, "trigger": text}},
		Gaps:       []answer.Row{{"turn_id": text, "call_id": text, "detected_at": at, "question": text, "status": text, "severity": text, "owner": text, "user_summary": text}},
		Redactions: []answer.Row{{"event_time": at, "target_ref": text, "redaction_state": text, "redacted_fields": []string{text}, "reason": text, "policy_refs": []string{text}}},
	}
	windows := make(map[source.WindowKey]windowview.Window)
	for i := range 2 {
		id := fmt.Sprint(text, i)
		a.Calls = append(a.Calls, answer.Row{
			"thread_id": fmt.Sprint(text, i), "run_id": text, "parent_run_id": text, "agent": text, "turn_id": text, "call_id": id, "event_time": at, "model": text,
			"cause": text, "window_tokens": int64(1000), "cache_read": int64(10), "lost_tokens": int64(900), "recorded_cost": 1.5, "recorded_currency": text,
		})
		a.Layers = append(a.Layers, answer.Row{"turn_id": text, "call_id": id, "event_time": at, "layer": text, "tokens": int64(10)})
		windows[source.WindowKey{Turn: text, Call: id}] = windowview.Window{OmissionReasons: []windowview.Omitted{{Reason: text, Items: 1}}, Blocks: []windowview.Block{{
			Layer: text, Title: text, Tokens: new(int64(10)), Items: []string{text}, Redaction: text, Policies: text, Elided: true, Stub: text, Level: text, Shortened: text,
		}}}
	}
	return NewReport(a, windows, text, at)
}

// TestHostileTextIsText: whatever a field holds, the page has the same elements, no element has an
// event handler or a style, and no text of a line changes how the line reads.
func TestHostileTextIsText(t *testing.T) {
	t.Parallel()
	want := skeleton(t, "plain")
	for _, text := range hostile {
		if got := skeleton(t, text); got != want {
			t.Errorf("%.40q changes the elements of the page:\n%s\nwant\n%s", text, got, want)
		}
	}
}

// skeleton writes the report and returns the names of its elements in order.
func skeleton(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	if err := hostileReport(text).Write(&b); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 200_000+8*len(text) {
		t.Errorf("the page has %d bytes", b.Len())
	}
	for i, r := range b.String() {
		if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e {
			t.Fatalf("%.40q: the page has the character %U in %q", text, r, b.String()[max(0, i-80):i])
		}
	}
	page, err := html.Parse(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for n := range page.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		names = append(names, n.Data)
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "href" && !strings.HasPrefix(a.Val, "#") {
				t.Errorf("%.40q: <%s> has %s=%.40q", text, n.Data, a.Key, a.Val)
			}
		}
	}
	return strings.Join(names, " ")
}
