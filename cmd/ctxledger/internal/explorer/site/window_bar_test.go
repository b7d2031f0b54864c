package site_test

import (
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"golang.org/x/net/html"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/pagetest"
)

// barOf is what `window -o json` says of the bar.
type barOf struct {
	Billed    *int64   `json:"billed_tokens"`
	Corrected *int64   `json:"corrected_tokens"`
	Error     *float64 `json:"corrected_error"`
	Segments  []struct {
		Layer   string `json:"layer"`
		Name    string `json:"name"`
		Tokens  int64  `json:"tokens"`
		Unknown int    `json:"unknown_items"`
	} `json:"segments"`
}

// barsEqual compares the bars of the first, a middle and the last billed call of every session. The
// segments add up to the bill. The terminal, the page of the call, the table of calls and the report
// have the same figures. It returns the number of bars with a segment that the log does not have.
func barsEqual(t *testing.T, data, base string, sessions []pagetest.Session) (unexplained int) {
	t.Helper()
	for _, session := range sessions {
		id, table := session.ID, session.Table
		calls := slices.DeleteFunc(slices.Clone(session.Calls), func(c map[string]any) bool { return c["window_tokens"] == nil })
		if len(calls) == 0 {
			continue
		}
		file := filepath.Join(t.TempDir(), "report.html")
		if _, stderr, code := clitest.Run(t, "report", "--session", id, "--out", file, "--data", data); code != cli.ExitDone {
			t.Fatalf("report ended with %d: %s", code, stderr)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		report, err := html.Parse(strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		inReport, compared := pagetest.Rows(report, "calls"), 0
		corrected := make(map[string]map[string]any)
		for _, row := range clitest.Ask(t, data, "corrected-windows", "--param", "session_id="+id) {
			corrected[fmt.Sprint(row["turn_id"], " ", row["call_id"])] = row
		}
		for _, i := range slices.Compact([]int{0, len(calls) / 2, len(calls) - 1}) {
			turn, call := fmt.Sprint(calls[i]["turn_id"]), fmt.Sprint(calls[i]["call_id"])
			flags := []string{"window", "--session", id, "--turn", turn, "--call", call, "--data", data}
			stdout, stderr, code := clitest.Run(t, append(flags, "-o", "json")...)
			if strings.Contains(stderr, "no window of turn") {
				continue // the log begins within the session, or was compacted before
			}
			compared++
			if code != cli.ExitDone {
				t.Errorf("window of %s ended with %d: %s", call, code, stderr)
				continue
			}
			var bar barOf
			if err := json.Unmarshal([]byte(stdout), &bar); err != nil {
				t.Fatal(err)
			}
			var sum, rest, unsized int64 // unsized are tokens of layers with an item of unknown size
			drawn, _, _ := clitest.Run(t, flags...)
			for _, s := range bar.Segments {
				sum += s.Tokens
				if s.Layer == "unexplained" {
					rest = s.Tokens
					unexplained++
				}
				if s.Unknown > 0 {
					unsized += s.Tokens
				}
				if want := thousands(s.Tokens) + " token"; !strings.Contains(drawn, want) {
					t.Errorf("call %s: the terminal lacks %q of %s\n%s", call, want, s.Layer, drawn)
				}
			}
			if bar.Billed == nil || sum != *bar.Billed {
				t.Errorf("call %s: the segments add up to %d, the bill is %v", call, sum, calls[i]["window_tokens"])
			}
			// A usage record does not have the size of a layer that has an item of unknown size.
			for where, rows := range map[string]map[string][]string{"page": table, "report": inReport} {
				if cells := rows[turn+" "+call]; len(cells) < 7 || cells[6] != fmt.Sprint(max(0, rest+unsized)) {
					t.Errorf("call %s: the %s has the row %q, %d tokens are not in the log", call, where, cells, rest+unsized)
				}
			}
			want, _ := corrected[turn+" "+call]["corrected_tokens"].(float64)
			if off, known := corrected[turn+" "+call]["corrected_error"].(float64); known != (bar.Corrected != nil) || known && (*bar.Corrected != int64(want) || *bar.Error != off) {
				t.Errorf("call %s: the window has the corrected estimate %v, want %v", call, bar.Corrected, want)
			} else if known {
				if line := "corrected  " + thousands(int64(want)) + " tokens"; !strings.Contains(drawn, line) {
					t.Errorf("call %s: the terminal lacks %q\n%s", call, line, drawn)
				}
				for where, rows := range map[string]map[string][]string{"page": table, "report": inReport} {
					if cells := rows[turn+" "+call]; len(cells) != 14 || strings.ReplaceAll(cells[12], ",", "") != fmt.Sprint(int64(want)) || !strings.HasSuffix(cells[13], "billed") {
						t.Errorf("call %s: the %s has the row %q, want the corrected estimate %v", call, where, cells, want)
					}
				}
			}
			page := pagetest.Parse(t, base+"/c/"+url.PathEscape(call)+"?turn="+url.QueryEscape(turn)+"&session="+url.QueryEscape(id))
			var inPage int64
			for _, row := range pagetest.All(pagetest.Find(page, func(n *html.Node) bool { return n.Data == "tbody" }), "tr") {
				n, _ := strconv.ParseInt(strings.ReplaceAll(pagetest.Cells(row)[3], "−", "-"), 10, 64)
				inPage += n
			}
			if inPage != sum {
				t.Errorf("call %s: the rows of the page add up to %d, want %d", call, inPage, sum)
			}
		}
		if compared == 0 {
			t.Errorf("no bar of session %s was compared", id)
		}
	}
	return unexplained
}

// thousands writes a number with commas.
func thousands(n int64) string {
	if n < 0 {
		return "-" + thousands(-n)
	}
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// checkCorrections: the estimates of Claude Code sessions lack system prompt and tools. The corrected ones
// are within 5 % of the bill for 90 % of the calls, and each says how far it is off.
func checkCorrections(t *testing.T, data string, want map[string]clitest.Answers) {
	t.Helper()
	for name, log := range want {
		within, off, calls := 0.0, 0.0, clitest.Ask(t, data, "corrected-windows", "--param", "session_id="+log.SessionIDs[0])
		for _, call := range calls {
			billed, estimated, corrected := call["billed_tokens"].(float64), call["estimated_tokens"].(float64), call["corrected_tokens"].(float64)
			if math.Abs(corrected-billed) <= 0.05*billed {
				within++
			}
			if math.Abs(estimated-billed) <= 0.05*billed {
				off++
			}
			if e := call["corrected_error"].(float64); math.Abs(billed*(1+e)-corrected) > 1 {
				t.Errorf("%s: call %v has the error %v: %v of %v tokens", name, call["call_id"], e, corrected, billed)
			}
		}
		n := float64(len(calls))
		if n < 10 || within < 0.9*n || off > 0 {
			t.Errorf("%s: %v of %v corrected and %v stored estimates are within 5 %%", name, within, n, off)
		}
		for _, row := range clitest.Ask(t, data, "tokenizer-error", "--param", "session_id="+log.SessionIDs[0]) {
			if row["calls"] != n || math.Abs(row["corrected_within_5"].(float64)-within/n) > 0.01 {
				t.Errorf("%s: tokenizer-error says %v, want %v of %v calls", name, row, within, n)
			}
		}
	}
}
