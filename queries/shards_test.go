package queries

import (
	"regexp"
	"strings"
	"testing"
)

// lastOrder is the ORDER BY of a whole statement.
var lastOrder = regexp.MustCompile(`(?s).*\nORDER BY (.*?)(?:\nLIMIT .*)?$`)

// TestMergesSortAsTheStatement compares the keys of each union with the statement.
func TestMergesSortAsTheStatement(t *testing.T) {
	if n := len(merges()); n < 40 {
		t.Fatalf("%d queries are listed", n)
	}
	for name, m := range merges() {
		if len(m.Keys) == 0 {
			continue
		}
		q, err := Get(name)
		if err != nil {
			t.Fatal(err)
		}
		found := lastOrder.FindStringSubmatch(strings.TrimSuffix(strings.TrimSpace(q.SQL), ";"))
		if found == nil {
			t.Errorf("%s: no ORDER BY", name)
			continue
		}
		atEnd := strings.HasSuffix(strings.TrimRight(q.SQL, "; \n"), "\nLIMIT {limit:UInt32}")
		if m.Combine != nil && strings.Contains(q.SQL, "{limit:") != atEnd {
			t.Errorf("%s: its limit is not at the end, so a shard would leave out rows of a group", name)
		}
		terms := strings.Split(strings.Join(strings.Fields(found[1]), " "), ", ")
		for i, k := range m.Keys {
			want := k.Column
			for _, a := range m.Added {
				if a.Column == k.Column {
					want = a.Expression
				}
			}
			if k.Absolute {
				want = "abs(" + want + ")"
			}
			if k.Descending {
				want += " DESC"
			}
			if i >= len(terms) || strings.TrimSuffix(terms[i], " NULLS LAST") != want {
				t.Errorf("%s: key %d is %q, and the statement sorts by %q", name, i+1, want, terms)
			}
		}
	}
}

func TestParseMergeRefuses(t *testing.T) {
	for line, says := range map[string]string{
		"strange            session":                     "unknown query",
		"checks             session":                     "has no parameter session_id",
		"sessions           session":                     "does not require it",
		"sessions           sums tenant":                 "want union, groups, session or same",
		"quarantine-by-code groups tenant":               "is no column of the query with a way",
		"quarantine-by-code groups code; x sum":          "is no column of the query with a way",
		"quarantine-by-code groups code; messages less":  "is no column of the query with a way",
		"days groups day; calls single":                  "is no column of the query with a way",
		"days groups day; cache_read_share share calls":  "is no column of the query with a way",
		"days groups day; calls single x":                "is no column of the query with a way",
		"sessions           union tenant":                "the keys have neither the session nor an erasure nor a gap nor the place of a message",
		"quarantine         union stream_seq":            "the keys have neither the session nor an erasure nor a gap nor the place of a message",
		"sessions           union session_id up":         "no column of the query, or not sorted by desc",
		"sessions           union turn_id":               "no column of the query",
		"tasks union at desc, session_id; turns = 1":     "is no new column with an expression",
		"tasks union at desc, session_id; at":            "is no new column with an expression",
		"quarantine-by-code groups code; sources argmax": "is no column of the query with a way",
	} {
		if _, _, err := parseMerge(line); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// TestAlone: the shard of a session answers alone, unless rows about the session may be on other shards.
func TestAlone(t *testing.T) {
	for name, want := range map[string][2]bool{ // without a session, with one
		"cache-calls": {true, true}, "cache-bill": {false, true}, "top-items": {false, true}, "sessions": {false, true},
		"quarantine": {false, false}, "open-gaps": {false, false}, "erasures": {false, false}, "prices": {false, false},
	} {
		m, ok := merges()[name]
		if got := [2]bool{m.Alone(""), m.Alone("s")}; !ok || got != want {
			t.Errorf("%s: one shard answers: %v, want %v", name, got, want)
		}
	}
}
