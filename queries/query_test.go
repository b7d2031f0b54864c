package queries_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/queries"
)

// readers are the queries that read tables, as the package comment says: about one
// turn or session, and about everything. Each says so itself.
var readers = map[string]bool{
	"window": true, "call-size": true, "turn-sessions": true, "window-facts": true, "window-turns": true, "why": true, "why-items": true,
	"budget-what-if": true, "cache-bill": true, "cache-breaks": true, "elision-savings": true, "fidelity": true, "tellings": true, "injected-never-assembled": true, "items-by-kind": true, "reconciliation": true, "river": true, "selection-acceptance": true, "session-peaks": true, "sessions": true, "tools-by-name": true, "turns": true,
}

var table = regexp.MustCompile(`(FROM|JOIN) (events|scopes|items|decisions|windows|placements|replacements|redactions|missing|calls|log_items)\b`)

func TestCatalogueIsComplete(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, q := range queries.All() {
		seen[q.Section] = true
		if !strings.HasSuffix(q.Title, "?") {
			t.Errorf("%s: the title %q is not a question", q.Name, q.Title)
		}
		if readsTables := table.MatchString(q.SQL); readsTables != readers[q.Name] {
			t.Errorf("%s: reads tables is %t, listed as such is %t; the views are the API", q.Name, readsTables, readers[q.Name])
		} else if !readsTables && (strings.Contains(q.SQL, " FINAL") || strings.Contains(q.SQL, "PREWHERE")) || strings.Contains(q.SQL, "SETTINGS") {
			t.Errorf("%s: PREWHERE and FINAL are for tables, and settings for views", q.Name)
		}
		if readers[q.Name] && !strings.Contains(q.About, "reads the table") {
			t.Errorf("%s does not say that it reads tables", q.Name)
		}
		for _, c := range q.Columns {
			if c.Unit == "" || c.About == "" {
				t.Errorf("%s: column %s lacks its unit or meaning", q.Name, c.Name)
			}
		}
	}
	for _, s := range queries.Sections {
		if !seen[s] {
			t.Errorf("section %q has no query", s)
		}
	}
}

func TestGetOffersTheNearest(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"sesion-usage": "session-usage", "tool_use": "tool-use", "open_gap": "open-gaps", "omission-reason": "omission-reasons",
	} {
		_, err := queries.Get(name)
		var unknown *queries.UnknownError
		if !errors.As(err, &unknown) || !errors.Is(err, queries.ErrUnknown) {
			t.Fatalf("Get(%q) = %v", name, err)
		}
		if len(unknown.Nearest) == 0 || unknown.Nearest[0] != want {
			t.Errorf("Get(%q) offers %v, want %s first", name, unknown.Nearest, want)
		}
	}
	if _, err := queries.Get("zzzzzzzzzz"); !strings.Contains(err.Error(), "query list") {
		t.Errorf("a name like no other: %v", err)
	}
}

func TestBind(t *testing.T) {
	t.Parallel()
	tests := []struct {
		query string
		give  map[string]string
		want  string // part of the error; empty for none
	}{
		{"resource-access", nil, ""},
		{"resource-access", map[string]string{"days": "30", "tenant": "a'b\\c\n"}, ""},
		{"resource-access", map[string]string{"day": "30"}, "no such parameter; it has tenant, session_id, days; did you mean days?"},
		{"resource-access", map[string]string{"colour": "red"}, "it has tenant, session_id, days"},
		{"budget-what-if", map[string]string{"show": "some"}, "one of flips, all"},
		{"budget-what-if", map[string]string{"percent": "0"}, "a whole number from 1 to 10000"},
		{"resource-access", map[string]string{"days": "36501"}, "a whole number from 0 to 36500"},
		{"resource-access", map[string]string{"days": "-1"}, "a whole number from 0 to 36500"},
		{"resource-access", map[string]string{"days": "3.5"}, "a whole number from 0 to 36500"},
		{"resource-access", map[string]string{"days": ""}, "a whole number from 0 to 36500"},
		{"resource-access", map[string]string{"days": "0x10"}, "a whole number from 0 to 36500"},
		{"resource-access", map[string]string{"tenant": "a\x00"}, "zero byte"},
		{"resource-access", map[string]string{"tenant": "\xff"}, "UTF-8"},
		{"elision-savings", map[string]string{"read_ratio": "NaN"}, "a number from 0.001 to 1"},
		{"elision-savings", map[string]string{"read_ratio": "0.25"}, ""},
		{"window", map[string]string{"session_id": "s"}, "turn_id: is missing; give --param turn_id=…, the turn"},
		{"window", map[string]string{"session_id": "s", "turn_id": "t", "as_of": "yesterday"}, "a time such as 2026-11-21T08:00:00Z"},
		{"window", map[string]string{"session_id": "s", "turn_id": "t", "as_of": "2026-11-21T09:00:00+01:00"}, ""},
	}
	for _, test := range tests {
		q, err := queries.Get(test.query)
		if err != nil {
			t.Fatal(err)
		}
		values, err := q.Bind(test.give)
		if test.want == "" {
			if err != nil || len(values) != len(q.Parameters) {
				t.Errorf("%s %v: %v, %v", test.query, test.give, values, err)
			}
			continue
		}
		if !errors.Is(err, queries.ErrParameter) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %v: error %v, want %q", test.query, test.give, err, test.want)
		}
	}
}

func TestBindTurnsTimesToUTC(t *testing.T) {
	t.Parallel()
	q, err := queries.Get("open-gaps")
	if err != nil {
		t.Fatal(err)
	}
	values, err := q.Bind(map[string]string{"as_of": "2026-11-21T09:00:00.5+01:00"})
	if err != nil || values["as_of"] != "2026-11-21 08:00:00.5" {
		t.Errorf("as_of = %q, %v", values["as_of"], err)
	}
}
