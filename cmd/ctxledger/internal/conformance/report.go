package conformance

import (
	"fmt"
	"io"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
)

// A Report says what became of every case.
type Report struct {
	Pass   bool     `json:"pass"` // every case that applies does
	Tenant string   `json:"tenant"`
	Cases  []Result `json:"cases"`
}

// A Result is one case. One without a finding does not apply: the session has
// nothing that it could judge.
type Result struct {
	Case     string    `json:"case"`
	Title    string    `json:"title"`
	Source   string    `json:"source"`
	Session  string    `json:"session_id"`
	Pass     bool      `json:"pass"`
	Findings []Finding `json:"findings"`
}

// A Finding is what one check expected and found.
type Finding struct {
	Check    string `json:"check"`
	Pass     bool   `json:"pass"`
	Expects  string `json:"expects"` // for people
	Rule     string `json:"rule"`
	LookedAt uint64 `json:"looked_at"` // rows that were judged
	Expected string `json:"expected"`
	Found    string `json:"found"`
}

// conclude works out what passes.
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

// Counts returns how many cases passed, failed and did not apply.
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

// WriteTable writes a line a case, and below one that fails what was expected
// and what was found.
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
