package conformance

import (
	"fmt"
	"io"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
)

// A Report holds the result of every case.
type Report struct {
	Pass   bool     `json:"pass"` // every case that applies passes
	Tenant string   `json:"tenant"`
	Cases  []Result `json:"cases"`
}

// A Result is the result of one case. A case without findings does not apply, because the session
// has no rows for its checks.
type Result struct {
	Case     string    `json:"case"`
	Title    string    `json:"title"`
	Source   string    `json:"source"`
	Session  string    `json:"session_id"`
	Pass     bool      `json:"pass"`
	Findings []Finding `json:"findings"`
}

// A Finding is the expected and the found value of one check.
type Finding struct {
	Check    string `json:"check"`
	Pass     bool   `json:"pass"`
	Expects  string `json:"expects"` // for people
	Rule     string `json:"rule"`
	LookedAt uint64 `json:"looked_at"` // number of compared rows
	Expected string `json:"expected"`
	Found    string `json:"found"`
}

// conclude computes the results of the cases and of the report.
func (r *Report) conclude() {
	r.Pass = true
	for i := range r.Cases {
		c := &r.Cases[i]
		c.Pass = true
		for _, f := range c.Findings {
			c.Pass = c.Pass && f.Pass
		}
		r.Pass = r.Pass && c.Pass
	}
}

// Counts returns the numbers of cases that passed, failed and did not apply.
func (r *Report) Counts() (passed, failed, absent int) {
	for _, c := range r.Cases {
		switch {
		case len(c.Findings) == 0:
			absent++
		case c.Pass:
			passed++
		default:
			failed++
		}
	}
	return passed, failed, absent
}

// WriteTable writes one line per case. Below a failed case it writes the expected and the found
// values.
func (r *Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	for _, c := range r.Cases {
		mark := "pass"
		switch {
		case len(c.Findings) == 0:
			mark = "-   "
		case !c.Pass:
			mark = "FAIL"
		}
		fmt.Fprintf(&b, "%s  %-23s  %2d checks  %s\n", mark, c.Case, len(c.Findings), c.Title)
		for _, f := range c.Findings {
			if !f.Pass {
				fmt.Fprintf(&b, "      %s: %s (%s)\n        expected  %s\n        found     %s\n        session   %s\n",
					f.Check, f.Expects, f.Rule, oneLine(f.Expected), oneLine(f.Found), oneLine(c.Session))
			}
		}
	}
	passed, failed, absent := r.Counts()
	fmt.Fprintf(&b, "\n%d of %d cases pass", passed, passed+failed)
	if absent > 0 {
		fmt.Fprintf(&b, "; %d do not apply: the session has nothing that they could judge", absent)
	}
	fmt.Fprintln(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// oneLine writes a value of an event on one line.
func oneLine(s string) string {
	if s == "" {
		return "nothing"
	}
	return ui.Safe(strings.ReplaceAll(s, "\n", "⏎"))
}
