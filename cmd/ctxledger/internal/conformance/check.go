package conformance

import (
	"context"
	"fmt"
	"strings"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
)

// A Check is one assertion on rows; see the package comment.
type Check struct {
	Name      string
	Expects   string // one sentence
	Rule      string // source of the rule
	SQL       string
	OnRun     bool // applies to a run of the suite
	OnSession bool // applies to a session that another runtime recorded
	Unchanged bool // runs twice and must find the same
}

const checkMark = "-- check: "

// parseChecks reads a file of checks. An incomplete head is an error of the program.
func parseChecks(file string) []Check {
	parts := strings.Split("\n"+file, "\n"+checkMark)
	checks := make([]Check, len(parts)-1)
	for i, text := range parts[1:] {
		checks[i] = parseCheck(text)
	}
	return checks
}

func parseCheck(text string) Check {
	name, rest, _ := strings.Cut(text, "\n")
	c := Check{Name: name}
	for {
		line, after, _ := strings.Cut(rest, "\n")
		field, isHead := strings.CutPrefix(line, "-- ")
		if !isHead {
			break
		}
		rest = after
		if more, ok := strings.CutPrefix(field, "  "); ok {
			c.Expects += " " + more
			continue
		}
		switch key, value, _ := strings.Cut(field, ": "); key {
		case "expects":
			c.Expects = value
		case "rule":
			c.Rule = value
		case "applies":
			c.OnRun, c.OnSession = value != "session", value != "run"
		case "unchanged":
			c.Unchanged = true
		default:
			panic(fmt.Sprintf("check %s: the head has %q", name, key))
		}
	}
	if c.SQL = strings.TrimSuffix(strings.TrimSpace(rest), ";"); c.Expects == "" || c.Rule == "" || c.SQL == "" || !c.OnRun && !c.OnSession {
		panic(fmt.Sprintf("check %s: the head is incomplete", name))
	}
	return c
}

// answer is the row of a check.
type answer struct {
	lookedAt        uint64
	expected, found string
}

// ask runs the check's statement.
func (c *Check) ask(ctx context.Context, l *ledger.Ledger, parameters map[string]string) (a answer, err error) {
	result, err := read.Of(l).Query(ctx, c.SQL, parameters, read.DefaultLimits())
	if err != nil {
		return a, fmt.Errorf("check %s: %w", c.Name, err)
	}
	rows := 0
	for result.Next() {
		rows++
		for i, value := range result.Values() {
			switch result.Columns()[i].Name {
			case "looked_at":
				a.lookedAt, _ = value.(uint64)
			case "expected":
				a.expected = fmt.Sprint(value)
			case "found":
				a.found = fmt.Sprint(value)
			}
		}
	}
	if err := result.Close(); err != nil {
		return a, fmt.Errorf("check %s: %w", c.Name, err)
	}
	if rows != 1 {
		return a, fmt.Errorf("check %s: its statement gave %d rows instead of one", c.Name, rows)
	}
	return a, nil
}

// finding returns the result of an answer.
func (c *Check) finding(a answer) Finding {
	f := Finding{Check: c.Name, Expects: c.Expects, Rule: c.Rule, LookedAt: a.lookedAt, Expected: a.expected, Found: a.found}
	f.Pass = a.lookedAt > 0 && a.expected == a.found
	if a.lookedAt == 0 && f.Found == "" {
		f.Found = "no row to judge"
	}
	return f
}
