package demo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/pagetest"
)

// reportEqualsAnswers writes the report of a session, parses it, and compares every number of its
// table of calls with what the query says with -o json. The file must refer to nothing outside.
func reportEqualsAnswers(t *testing.T, data, session string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	if stdout, stderr, code := clitest.Run(t, "report", "--session", session, "--out", path, "--data", data); code != cli.ExitDone || !strings.Contains(stdout, path) {
		t.Fatalf("report ended with %d\n%s%s", code, stdout, stderr)
	}
	if _, _, code := clitest.Run(t, "report", "--session", session, "--out", path, "--data", data); code != cli.ExitUsage {
		t.Errorf("the report replaced a file without --force: %d", code)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if outside := regexp.MustCompile(`(?i)(src|href|action)="?[^#"]|url\([^#]|@import|https?://`).Find(text); outside != nil {
		t.Errorf("the report refers to something outside: %q", outside)
	}
	if len(text) > 3_000_000 {
		t.Errorf("the report has %d bytes", len(text))
	}
	page, err := html.Parse(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	layers := make(map[string]float64)
	for _, row := range clitest.Ask(t, data, "call-layers", "--param", "session_id="+session, "--param", "limit=100000") {
		if n, ok := row["tokens"].(float64); ok {
			layers[fmt.Sprint(row["turn_id"], " ", row["call_id"])] += n
		}
	}
	rows := pagetest.Rows(page, "calls")
	compared := 0
	for _, call := range clitest.Ask(t, data, "river", "--param", "session_id="+session) {
		key := fmt.Sprint(call["turn_id"], " ", call["call_id"])
		cells, ok := rows[key]
		if !ok {
			if layers[key] != 0 || call["window_tokens"] != nil || call["window_expected"] != nil {
				t.Errorf("the page has no call %s", key)
			}
			continue
		}
		delete(rows, key)
		for column, want := range map[int]any{4: call["window_tokens"], 5: layers[key], 7: call["cache_read"], 8: call["cache_written"], 9: call["lost_tokens"]} {
			if cells[column] != pagetest.Digits(want) {
				t.Errorf("call %s, column %d: the page says %q, the query says %v", key, column, cells[column], want)
			}
			compared++
		}
	}
	if len(rows) > 0 || compared < 100 {
		t.Errorf("%d numbers were compared; the page alone has %v", compared, rows)
	}
	facts := pagetest.Text(pagetest.Find(page, func(n *html.Node) bool { return pagetest.Attribute(n, "class") == "facts" }))
	redactions := clitest.Ask(t, data, "redactions", "--param", "session_id="+session)
	gaps := clitest.Ask(t, data, "gaps", "--param", "session_id="+session)
	for _, want := range []string{fmt.Sprintf("%dredaction", len(redactions)), fmt.Sprintf("%dgap", len(gaps))} {
		if !strings.Contains(facts, want) {
			t.Errorf("the figures %q do not have %q", facts, want)
		}
	}
	windowEqualsAnswer(t, data, session, page)
}

// windowEqualsAnswer compares the largest blocks of the outlined call with `window -o json`.
func windowEqualsAnswer(t *testing.T, data, session string, page *html.Node) {
	t.Helper()
	panel := pagetest.Find(page, func(n *html.Node) bool { return pagetest.Attribute(n, "class") == "card call first" })
	number := regexp.MustCompile(`Call (\d+) of`).FindStringSubmatch(pagetest.Text(panel))
	if number == nil {
		t.Fatal("the report outlines no call")
	}
	row := pagetest.Find(page, func(n *html.Node) bool {
		return n.Data == "tr" && pagetest.Attribute(n, "data-call") != "" && pagetest.Text(pagetest.Find(n, func(n *html.Node) bool { return n.Data == "a" })) == number[1]
	})
	stdout, stderr, code := clitest.Run(t, "window", "--session", session, "--turn", pagetest.Attribute(row, "data-turn"), "--call", pagetest.Attribute(row, "data-call"), "-o", "json", "--data", data)
	if code != cli.ExitDone {
		t.Fatalf("window ended with %d: %s", code, stderr)
	}
	blocks := 0
	for _, tr := range pagetest.All(panel, "tr") {
		cells := pagetest.Cells(tr)
		if len(cells) == 0 || cells[0] == "–" {
			continue
		}
		if want := fmt.Sprintf(`"position":%s,`, cells[0]); !strings.Contains(stdout, want) {
			t.Errorf("the window has no %s", want)
		}
		if want := fmt.Sprintf(`"tokens":%s,`, cells[3]); !strings.Contains(stdout, want) {
			t.Errorf("no block of the window has %s", want)
		}
		blocks++
	}
	if blocks < 3 {
		t.Errorf("the panel lists %d blocks", blocks)
	}
}
