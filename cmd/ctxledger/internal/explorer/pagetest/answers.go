package pagetest

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/queries/client"
)

// Session is a session as the query river and the page of the session tell of it.
type Session struct {
	ID    string
	Calls []map[string]any    // rows of the query
	Table map[string][]string // rows of the page, by turn and call
}

// EqualAnswers compares the numbers of the list and of each session's page with the commands. It
// returns the sessions.
func EqualAnswers(t *testing.T, data, base string) (sessions []Session) {
	t.Helper()
	base = strings.TrimSuffix(base, "/")
	list := clitest.Ask(t, data, "sessions")
	trs := All(Find(Parse(t, base+"/"), func(n *html.Node) bool { return Attribute(n, "id") == "sessions" }), "tr")[1:]
	if len(trs) != len(list) {
		t.Fatalf("the page lists %d sessions, the query %d", len(trs), len(list))
	}
	for i, tr := range trs {
		cells := Cells(tr)
		for column, name := range map[int]string{3: "turns", 4: "calls", 5: "max_window_tokens", 8: "output", 9: "compactions", 10: "redactions", 11: "gaps"} {
			if cells[column] != Digits(list[i][name]) || Attribute(tr, "data-session") != list[i]["session_id"] {
				t.Errorf("session %v: the page says %q for %s, the query says %v", list[i]["session_id"], cells[column], name, list[i][name])
			}
		}
		if share, _ := shareOf(list[i]); plain(cells[7]) != share {
			t.Errorf("session %v: the page says %q was read from the cache, the query %q", list[i]["session_id"], cells[7], share)
		}
		if want := costOf(list[i]); !strings.HasSuffix(plain(cells[12]), want) {
			t.Errorf("session %v: the page says that it cost %q, the query %q", list[i]["session_id"], cells[12], want)
		}
	}
	for _, session := range list {
		id := fmt.Sprint(session["session_id"])
		page := Parse(t, base+"/s/"+url.PathEscape(id))
		figuresEqualAnswers(t, data, page, session)
		rows, compared, windows := Rows(page, "calls"), 0, 0
		shown := Session{id, clitest.Ask(t, data, "river", "--param", "session_id="+id), rows}
		sessions = append(sessions, shown)
		for _, call := range shown.Calls {
			if call["window_tokens"] != nil || call["window_expected"] != nil {
				windows++
			}
			cells, ok := rows[fmt.Sprint(call["turn_id"], " ", call["call_id"])]
			for column, name := range map[int]string{4: "window_tokens", 7: "cache_read", 8: "cache_written", 9: "lost_tokens"} {
				if ok && cells[column] != Digits(call[name]) {
					t.Errorf("call %v: the page says %q for %s, the query says %v", call["call_id"], cells[column], name, call[name])
				}
			}
			if ok {
				compared++
			}
		}
		if compared < windows || compared != len(rows) {
			t.Errorf("session %s: %d calls of %d with a window were compared; the page has %d", id, compared, windows, len(rows))
		}
	}
	return sessions
}

// figuresEqualAnswers compares the figures at the head of a session's page with the queries. session is
// its row of sessions.
func figuresEqualAnswers(t *testing.T, data string, page *html.Node, session map[string]any) {
	t.Helper()
	id := fmt.Sprint(session["session_id"])
	figures := make(map[string]string) // by the beginning of what they are about
	for _, li := range All(Find(page, func(n *html.Node) bool { return Attribute(n, "class") == "facts" }), "li") {
		about := Text(All(li, "span")[0])
		words := strings.Fields(about)
		figures[strings.Join(words[:min(2, len(words))], " ")] = plain(Text(All(li, "b")[0]))
	}
	check := func(about, want string) {
		if got := figures[about]; got != want {
			t.Errorf("session %s: the page says %q of %s…, the queries say %q", id, got, about, want)
		}
	}
	if n, ok := session["max_window_tokens"].(float64); ok {
		check("tokens in", fmt.Sprintf("%.0f", n))
	}
	share, billed := shareOf(session)
	if billed {
		check("of billed", share)
	}
	var paid float64
	for _, cause := range clitest.Ask(t, data, "cache-bill", "--param", "session_id="+id) {
		recomputed, known := cause["recomputed_billed"].(float64)
		unbroken, _ := cause["unbroken_billed"].(float64)
		if known && cause["cause"] != "append" && cause["cause"] != "first" {
			paid += recomputed - unbroken
		}
	}
	if billed {
		check("tokens paid", fmt.Sprintf("%.0f", paid))
	}
	if want := costOf(session); want != "" {
		check("cost of", want)
	}
	sub := plain(Text(Find(page, func(n *html.Node) bool { return Attribute(n, "class") == "sub" })))
	if want := fmt.Sprintf("%.0fcall", session["calls"]); !strings.Contains(sub, want) {
		t.Errorf("session %s: the page says %q, the query counts %v calls", id, sub, session["calls"])
	}
}

// plain removes all white space, such as that between thousands.
func plain(s string) string { return strings.Join(strings.Fields(s), "") }

// shareOf returns which share of a session's input was read from the cache, as a page writes it.
func shareOf(session map[string]any) (share string, billed bool) {
	read, known := session["cache_read"].(float64)
	uncached, _ := session["uncached_input"].(float64)
	written, _ := session["cache_written"].(float64)
	if whole := read + uncached + written; known && whole > 0 {
		return fmt.Sprintf("%.1f%%", 100*read/whole), true
	}
	return "", false
}

// costOf returns what a session cost, as a page writes it without white space.
func costOf(session map[string]any) string {
	cost, known := session["at_least_cost"].(float64)
	if currencies, _ := session["priced_currencies"].([]any); known && len(currencies) == 1 {
		return fmt.Sprintf("%.2f%v", cost, currencies[0])
	}
	return ""
}

// EqualTheList checks that pages of one session each, whose sessions are paged, are the whole list in its order.
func EqualTheList(t *testing.T, base string, paged []any) {
	t.Helper()
	c, whole := &client.Client{Base: base}, []any(nil)
	for row, err := range c.Sessions(t.Context(), url.Values{"tenant": {"default"}}) {
		if err != nil {
			t.Fatal(err)
		}
		whole = append(whole, row["session_id"])
	}
	if len(whole) == 0 || fmt.Sprint(paged) != fmt.Sprint(whole) {
		t.Errorf("the pages have %v, the list has %v", paged, whole)
	}
	for _, wrong := range []string{"x", "AAAA", "Cgo"} {
		if response, text := clitest.Get(t, base+"/api/v1/sessions?cursor="+wrong); response.StatusCode != http.StatusBadRequest || !strings.Contains(text, "cursor") {
			t.Errorf("the cursor %s answers %d %s", wrong, response.StatusCode, text)
		}
	}
}
