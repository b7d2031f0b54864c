package site_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
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
	rows := rowsOf(page, "calls")
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
			if cells[column] != digits(want) {
				t.Errorf("call %s, column %d: the page says %q, the query says %v", key, column, cells[column], want)
			}
			compared++
		}
	}
	if len(rows) > 0 || compared < 100 {
		t.Errorf("%d numbers were compared; the page alone has %v", compared, rows)
	}
	facts := textOf(find(page, func(n *html.Node) bool { return attribute(n, "class") == "facts" }))
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
	panel := find(page, func(n *html.Node) bool { return attribute(n, "class") == "card call first" })
	number := regexp.MustCompile(`Call (\d+) of`).FindStringSubmatch(textOf(panel))
	if number == nil {
		t.Fatal("the report outlines no call")
	}
	row := find(page, func(n *html.Node) bool {
		return n.Data == "tr" && attribute(n, "data-call") != "" && textOf(find(n, func(n *html.Node) bool { return n.Data == "a" })) == number[1]
	})
	stdout, stderr, code := clitest.Run(t, "window", "--session", session, "--turn", attribute(row, "data-turn"), "--call", attribute(row, "data-call"), "-o", "json", "--data", data)
	if code != cli.ExitDone {
		t.Fatalf("window ended with %d: %s", code, stderr)
	}
	blocks := 0
	for _, tr := range all(panel, "tr") {
		cells := cellsOf(tr)
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

// digits writes a number of JSON as a data element has it, and an unknown one as the page shows it.
func digits(n any) string {
	if f, ok := n.(float64); ok {
		return strconv.FormatInt(int64(f), 10)
	}
	return "?"
}

// rowsOf returns the cells of a table's rows, by turn and call.
func rowsOf(page *html.Node, table string) map[string][]string {
	rows := make(map[string][]string)
	for _, tr := range all(find(page, func(n *html.Node) bool { return attribute(n, "id") == table }), "tr") {
		if call := attribute(tr, "data-call"); call != "" {
			rows[attribute(tr, "data-turn")+" "+call] = cellsOf(tr)
		}
	}
	return rows
}

// cellsOf returns the cells of a row. A number is the value of its data element.
func cellsOf(tr *html.Node) (cells []string) {
	for _, td := range all(tr, "td") {
		if number := find(td, func(n *html.Node) bool { return n.Data == "data" }); number != nil {
			cells = append(cells, attribute(number, "value"))
			continue
		}
		cells = append(cells, strings.TrimSpace(textOf(td)))
	}
	return cells
}

func find(n *html.Node, fits func(*html.Node) bool) *html.Node {
	if n == nil {
		return nil
	}
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && fits(d) {
			return d
		}
	}
	return nil
}

func all(n *html.Node, name string) (list []*html.Node) {
	if n == nil {
		return nil
	}
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.Data == name {
			list = append(list, d)
		}
	}
	return list
}

func attribute(n *html.Node, name string) string {
	if n == nil {
		return ""
	}
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	if n == nil {
		return ""
	}
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}
