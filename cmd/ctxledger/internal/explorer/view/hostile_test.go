package view

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/river"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/source"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/ledger/evidence/verify"
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

// hostilePages are the files that browsers show, with a text in every field.
var hostilePages = []func(w io.Writer, text string) error{
	func(w io.Writer, text string) error { return hostileReport(text).Write(w) },
	func(w io.Writer, text string) error { return WritePack(w, hostileAccount(text)) },
	func(w io.Writer, text string) error { return WriteVerdict(w, hostileVerdict(text)) },
}

// hostileAccount is an account with a text in every field. Package document makes texts safe for
// one line, and the page has to escape them.
func hostileAccount(text string) document.Account {
	text = ui.Shorten(text, 200)
	at := time.Date(2026, 1, 21, 7, 20, 0, 0, time.UTC)
	block := document.AccountBlock{Layer: text, Role: text, What: text, Redaction: text, Tokens: new(int64(3))}
	return document.Account{
		Header: pack.Header{ID: text, Scope: pack.Scope{Kind: pack.ScopeSession, Tenant: text, Session: text}, Created: at, Exporter: text, Logs: []string{text}},
		First:  at, Last: at, Seals: 1,
		Windows:     []document.AccountWindow{{Turn: text, Attempt: text, Call: text, Target: text, At: at, Fidelity: text, Partial: true, Blocks: []document.AccountBlock{block}, AllBlocks: 2, Tokens: 3}},
		Redactions:  []document.AccountRedaction{{At: at, Target: text, State: text, Reason: text, Policies: text}},
		Omissions:   []document.AccountOmission{{Item: text, Reason: text, Turn: text, Call: text}},
		Reasons:     []document.ReasonCount{{Reason: text, Items: 1}},
		Compactions: []document.AccountCompaction{{At: at, ID: text, Summary: text, Trigger: text, Loss: text}},
		Gaps:        []document.AccountGap{{ID: text, Label: text, Owner: text, Status: text, At: at}},
		Erasures:    []document.AccountErasure{{ID: text, Reason: text, Records: 1}},
	}
}

// hostileVerdict is a verdict with a text in every field.
func hostileVerdict(text string) *verify.Report {
	return &verify.Report{
		Pack: text, Scope: pack.Scope{Kind: text, Tenant: text, Session: text}, SignedBy: []string{text}, Logs: []verify.Log{{Origin: text, Root: text}},
		Verdicts: []verify.Verdict{
			{Question: verify.Format, Status: verify.Failed, Detail: text, Total: 2, Faults: []verify.Fault{{File: text, Pointer: text, Reason: text}}, Notes: []string{text}},
			{Question: verify.Files, Status: verify.Open, Detail: text},
		},
	}
}

// TestHostileTextIsText: whatever a field holds, the page has the same elements, no element has an
// event handler or a style, and no text of a line changes how the line reads.
func TestHostileTextIsText(t *testing.T) {
	t.Parallel()
	for _, write := range hostilePages {
		want := skeleton(t, "plain", write)
		for _, text := range hostile {
			if got := skeleton(t, text, write); got != want {
				t.Errorf("%.40q changes the elements of the page:\n%s\nwant\n%s", text, got, want)
			}
		}
	}
}

// skeleton writes the report and returns the names of its elements in order.
func skeleton(t *testing.T, text string, write func(io.Writer, string) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b, text); err != nil {
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
